"""Hints for tests."""

import numpy as np

from fusewise.automatic._hints import Hints


def hints_of(blocks, conflicts=()):
    """Blocks given as lists of rows."""
    rows = np.concatenate(blocks).astype(int)
    block = np.repeat(np.arange(len(blocks)), [len(b) for b in blocks])
    return Hints(rows, block, np.array(conflicts, int).reshape(-1, 2))
