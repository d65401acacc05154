"""Which points can share a centre: the data checked, and the graph of feasible pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fusewise.kernels import Floats, Mask
from fusewise.observations import as_entries, is_complex, warn_of_blanks
from fusewise.pairs import boxes

Ints = NDArray[np.int64]

# A difference of two doubles written in decimal is off by an ulp or two of the larger one: 0.3 - 0.1 is not 0.2. Two
# ulps of each of the two forgive that and nothing a user could mean.
_ULPS = 2.0 * float(np.finfo(np.float64).eps)
_BLOCK_BYTES = 1 << 25


def check_data(X: Any, mask: Any = None) -> Floats:
    """X as an N x P array of doubles, NaN where nothing was observed; a NaN that the mask calls observed is missing."""
    if is_complex(X):
        raise TypeError(
            "X is complex. The exact solver needs real data: complex boxes are discs, and discs that meet in "
            "pairs need not meet all together, so feasible pairs do not make a feasible group"
        )
    return np.asarray(as_entries(X, mask, min_rows=1).fill(np.nan), dtype=np.float64)


def observed_rows(data: Floats) -> Ints:
    """Indices of the rows with at least one observed entry; warns about the others, which get the label -1."""
    warn_of_blanks(as_entries(data, min_rows=1), columns=False)
    return np.flatnonzero(~np.isnan(data).all(axis=1))


def feasible_pairs(data: Floats, epsilon: Any = None, lower: Any = None, upper: Any = None) -> Mask:
    """a_ij = [ the boxes of rows i and j meet in every feature p, up to rounding ], a_ii = False.

    Boxes of width epsilon meet where |x_ip - x_jp| <= epsilon; a pair with no common feature always can. What rounding
    may add depends on the two entries alone: a huge entry elsewhere excuses nothing. Works feature by feature on blocks
    of rows: never more than N x N booleans and a few blocks of differences.
    """
    n_points = len(data)
    low, high = boxes(data, epsilon, lower, upper, slack=_ULPS)
    feasible = np.ones((n_points, n_points), dtype=np.bool_)
    rows = max(1, _BLOCK_BYTES // (8 * max(1, n_points)))
    for start in range(0, n_points, rows):
        own = slice(start, start + rows)
        for least, greatest in zip(low.T, high.T, strict=True):
            feasible[own] &= (least[own, None] <= greatest) & (least <= greatest[own, None])
    np.fill_diagonal(feasible, False)
    return feasible
