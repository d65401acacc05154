"""A table with the same columns and the same gaps, but no relations between columns: what chance would show."""

from __future__ import annotations

import numpy as np

from fusewise.observations import Entries


def permuted(table: Entries, random: np.random.Generator) -> Entries:
    """The table with the values of each column permuted, among the rows in which it is observed."""
    values = table.values.copy()
    for column, mask in enumerate(table.mask.T):
        rows = np.flatnonzero(mask)
        values[rows, column] = values[random.permutation(rows), column]
    return Entries(values, table.mask, table.feature_names)
