"""A table that could be one cluster: what the shapes and the correlations of columns show by themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fusewise.automatic.coordinates.axes import fit_axes
from fusewise.automatic.coordinates.symmetric import Powers
from fusewise.observations import Entries
from fusewise.subspace import Subspace


@dataclass(frozen=True, eq=False)
class OneCluster:
    """Rows x with one normal distribution of all z, where z are the columns made symmetric: z ~ N(m, B diag(v) B' + D).

    Attributes
    ----------
    powers : from x to z.
    subspace : the m, B and v, and the variances D around it.
    """

    powers: Powers
    subspace: Subspace

    @classmethod
    def like(cls, table: Entries, powers: Powers, rank: int) -> OneCluster:
        """The one that a table is most like, given its powers, with so many axes."""
        return cls(powers, fit_axes(powers.applied(table), rank))

    def drawn(self, table: Entries, random: np.random.Generator) -> Entries:
        """Other rows, with values missing where they are in a table."""
        n, (along, about) = table.shape[0], (np.sqrt(self.subspace.variances), np.sqrt(self.subspace.noises))
        places = along * random.standard_normal((n, len(along)))
        z = self.subspace.mean + places @ self.subspace.basis.T + about * random.standard_normal(table.shape)
        return Entries(np.where(table.mask, self.powers.undone(z), 0), table.mask)
