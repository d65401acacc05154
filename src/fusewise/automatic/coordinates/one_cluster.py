"""A table that could be one cluster: what the shapes and the correlations of columns show by themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fusewise.automatic.coordinates.axes import fit_axes
from fusewise.automatic.coordinates.informative_columns import axes_in
from fusewise.automatic.coordinates.level_blocks import Levels, is_number
from fusewise.automatic.coordinates.permuted import permuted
from fusewise.automatic.coordinates.symmetric import Powers
from fusewise.observations import Entries
from fusewise.subspace import Subspace


@dataclass(frozen=True, eq=False)
class OneCluster:
    """Rows x with one normal distribution of all z, where z are the columns made symmetric: z ~ N(m, B diag(v) B' + D).

    Categories are related neither to each other nor to numbers.

    Attributes
    ----------
    powers : from x to z.
    subspace : the m, B and v, and the variances D around it.
    levels : the blocks of columns that hold the levels of a category.
    """

    powers: Powers
    subspace: Subspace
    levels: Levels = ()

    @classmethod
    def like(cls, table: Entries, powers: Powers, rank: int, levels: Levels = ()) -> OneCluster:
        """The one that a table is most like, given its powers, with so many axes."""
        symmetric, numbers = powers.applied(table), np.flatnonzero(is_number(table.shape[1], levels))
        if not levels:
            return cls(powers, fit_axes(symmetric, rank))
        return cls(powers, axes_in(symmetric, numbers, min(rank, len(numbers))), levels)

    def drawn(self, table: Entries, random: np.random.Generator) -> Entries:
        """Other rows, with values missing where they are in a table."""
        n, (along, about) = table.shape[0], (np.sqrt(self.subspace.variances), np.sqrt(self.subspace.noises))
        places = along * random.standard_normal((n, len(along)))
        z = self.subspace.mean + places @ self.subspace.basis.T + about * random.standard_normal(table.shape)
        others = permuted(table, random, self.levels).values
        values = np.where(is_number(table.shape[1], self.levels), self.powers.undone(z), others)
        return Entries(np.where(table.mask, values, 0), table.mask)
