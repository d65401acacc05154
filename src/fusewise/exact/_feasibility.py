"""Which points can share a centre: the data checked, and the graph of feasible pairs."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fusewise.kernels import Floats, Mask
from fusewise.observations import as_entries, is_complex, warn_of_blanks
from fusewise.support import InputError

Ints = NDArray[np.int64]

# A difference of two doubles written in decimal is off by an ulp or two of the larger one: 0.3 - 0.1 is
# not 0.2. Four ulps of the larger of the two forgive that and nothing a user could mean.
_ULPS = 4.0 * float(np.finfo(np.float64).eps)
_BLOCK_BYTES = 1 << 25


def check_epsilon(epsilon: Any) -> float:
    """Return epsilon as a float, or say why it is not a box width: it must be finite and at least 0."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, Real):
        raise TypeError(f"epsilon must be a number, got {epsilon!r}")
    value = float(epsilon)
    if not math.isfinite(value) or value < 0:
        raise InputError(f"epsilon must be finite and >= 0, got {value!r}")
    return value


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


def feasible_pairs(data: Floats, epsilon: float) -> Mask:
    """a_ij = [ |x_ip - x_jp| <= epsilon + tau_ijp for every feature p observed in both ], a_ii = False.

    Two boxes of width epsilon meet exactly when their midpoints are at most epsilon apart in every feature
    both constrain; a pair with no common feature always can. tau_ijp = 4 ulp * (max(|x_ip|, |x_jp|) + epsilon) is what
    rounding may add to that difference. It depends on the two entries alone: a huge entry elsewhere excuses nothing.
    Works feature by feature on blocks of rows: never more than N x N booleans and a few blocks of differences.
    """
    n_points, n_features = data.shape
    limit, slack = epsilon * (1 + _ULPS), _ULPS * np.abs(data)
    feasible = np.ones((n_points, n_points), dtype=np.bool_)
    rows = max(1, _BLOCK_BYTES // (8 * max(1, n_points)))
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, n_points, rows):
            block = feasible[start : start + rows]
            for p in range(n_features):
                column, own = data[:, p], slack[:, p]
                excess = np.abs(column[start : start + rows, None] - column[None, :]) - limit
                # NaN compares False, so a feature missing on either side forbids nothing.
                block &= ~(excess > np.maximum(own[start : start + rows, None], own[None, :]))
    np.fill_diagonal(feasible, False)
    return feasible
