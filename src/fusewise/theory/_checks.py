"""Argument checks shared by the theory: every refusal names the argument, its value and the range."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fusewise.kernels import Floats
from fusewise.support import InputError

#: Points up to which bounds that sum over groups of points are computed: seconds, and some hundred megabytes.
MOST_POINTS = 1e7


def real(name: str, value: ArrayLike, low: float, high: ArrayLike, *, open_high: bool = False) -> Floats:
    """Return ``value`` as floats, all of them in [low, high], or [low, high) when ``open_high``."""
    array, top = np.broadcast_arrays(np.asarray(value, dtype=np.float64), np.asarray(high, dtype=np.float64))
    inside = (array >= low) & ((array < top) if open_high else (array <= top))
    if not np.all(inside):
        bad, bound, bracket = array[~inside].flat[0], top[~inside].flat[0], ")" if open_high else "]"
        raise InputError(f"{name} = {bad:g} is out of range: it must lie in [{low:g}, {bound:g}{bracket}")
    return np.asarray(value, dtype=np.float64)


def whole(name: str, value: ArrayLike, low: int) -> Floats:
    """Return ``value`` as floats, all of them whole numbers >= low (floats, so that products do not overflow)."""
    array = np.asarray(value, dtype=np.float64)
    good = np.isfinite(array) & (array >= low) & (array == np.floor(array))
    if not np.all(good):
        bad = float(array[~good].flat[0])
        raise InputError(f"{name} = {bad:g} is out of range: it must be a whole number >= {low}")
    return array


def countable(name: str, n_points: float, most: float = MOST_POINTS) -> None:
    """Raise ValueError for more points than the sums over groups are computed for: they take their memory and time."""
    if n_points > most:
        raise InputError(f"{name} = {n_points:g} points are too many: the bound is computed for up to {most:g}")


def unwrap(array: ArrayLike) -> Floats:
    """Return a plain float for a 0-d result and the array otherwise."""
    return np.asarray(array, dtype=np.float64)[()]


def result(logarithm: ArrayLike, log: bool) -> Floats:
    """Return a bound from its logarithm, or the logarithm itself."""
    return unwrap(logarithm if log else np.exp(logarithm))
