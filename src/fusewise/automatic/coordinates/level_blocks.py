"""Which columns hold the levels of a category."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fusewise.kernels.types import Mask


class LevelBlock(NamedTuple):
    """The columns from `start` to before `stop` hold the levels of one category, which may be ordered."""

    start: int
    stop: int
    ordered: bool = False


Levels = tuple[LevelBlock, ...]


def is_number(n_columns: int, levels: Levels) -> Mask:
    """Whether each column holds numbers, rather than a level of a category."""
    numeric = np.ones(n_columns, bool)
    for start, stop, *_ in levels:
        numeric[start:stop] = False
    return numeric
