"""A table with the same columns and the same gaps, but no relations between columns: what chance would show."""

from __future__ import annotations

import numpy as np

from fusewise.automatic.coordinates.level_blocks import LevelBlock, Levels
from fusewise.observations import Entries


def permuted(table: Entries, random: np.random.Generator, blocks: Levels | None = None) -> Entries:
    """The table with the values of each column permuted, among the rows in which it is observed.

    With `blocks` only those columns, the columns of a block together.
    """
    values = table.values.copy()
    for start, stop, *_ in map(_alone, range(table.shape[1])) if blocks is None else blocks:
        rows = np.flatnonzero(table.mask[:, start])
        values[rows, start:stop] = values[random.permutation(rows), start:stop]
    return Entries(values, table.mask, table.feature_names)


def _alone(column: int) -> LevelBlock:
    return LevelBlock(column, column + 1)
