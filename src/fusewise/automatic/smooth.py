"""A table without clusters: what a shrunk subspace expects of every entry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fusewise.automatic.axes import varying_columns
from fusewise.automatic.evidence import Index
from fusewise.observations import Entries
from fusewise.observations.entries import Real, Values
from fusewise.subspace import Subspace, coordinates, reconstruct
from fusewise.subspace.shrunk import fit_shrunk_subspace

#: The most axes; those a table does not support go out.
RANK = 6


@dataclass(frozen=True, eq=False)
class Smooth:
    """Columns, each divided by its deviation, about a shrunk subspace; a complex column is two real ones.

    Not centred: columns whose means are alike (ratings, say) may draw each other's means together.

    Attributes
    ----------
    columns, scale, middle : which columns vary; the standard deviation of each, and its mean.
    subspace : of the varying columns.
    """

    columns: Index
    scale: Real
    middle: Values
    subspace: Subspace

    @classmethod
    def of(cls, entries: Entries) -> Smooth:
        """The subspace of a table."""
        columns, scale = varying_columns(entries)
        return cls(columns, scale, entries.column_means, fit_shrunk_subspace(_scaled(entries, columns, scale), RANK))

    def completed(self, entries: Entries) -> Values:
        """E[row | its entries]; the mean where nothing is seen."""
        table = _scaled(entries, self.columns, self.scale)
        found = reconstruct(self.subspace, coordinates(self.subspace, table)[0])
        p = len(self.columns)
        whole = np.repeat(self.middle[None], entries.shape[0], axis=0)
        parts = found[:, :p] + 1j * found[:, p:] if found.shape[1] > p else found
        whole[:, self.columns] = parts * self.scale[self.columns]
        return whole


def _scaled(entries: Entries, columns: Index, scale: Real) -> Entries:
    """Varying columns in units of their deviation, as real numbers in double precision."""
    table = Entries(entries.values[:, columns] / scale[columns], entries.mask[:, columns]).real()
    return Entries(table.values.astype(float), table.mask)
