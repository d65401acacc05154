"""Boxes: the interval in which each entry of a centre must lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.kernels import Floats, Labels, Real
from fusewise.support import InputError


def spread_out(name: str, value: Any, shape: tuple[int, ...]) -> Floats:
    """Return one number for each entry of a table, from one number, one for each column, or one for each entry."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number or an array of numbers, got {value!r}") from None
    if array.ndim and array.shape not in (shape[1:], shape):
        raise InputError(
            f"{name} has shape {array.shape}, but the table has shape {shape}: give one number, one for each column, "
            "or one for each entry"
        )
    return np.broadcast_to(array, shape)


def boxes(
    X: Floats, epsilon: Any = None, lower: Any = None, upper: Any = None, *, slack: float = 0.0
) -> tuple[Floats, Floats]:
    """The least and the greatest value of each entry of the centres of a table: infinite where nothing is known of it.

    That is x_ip -+ epsilon_ip / 2 where x_ip was observed (X is NaN elsewhere), or else the bounds given, of which an
    infinite one or NaN is none. A box grows on both sides by `slack` times the numbers that it comes from.
    """
    if (epsilon is None) == (lower is None and upper is None):
        raise InputError("set epsilon, the width of the boxes, or else lower and upper, their bounds")
    if epsilon is not None:
        width = spread_out("epsilon", epsilon, X.shape)
        _refuse("epsilon must be finite and >= 0, got {0!r}", ~(np.isfinite(width) & (width >= 0)), epsilon, width)
        with np.errstate(over="ignore", invalid="ignore"):
            room = width / 2 + slack * (np.abs(X) + width)
            return np.where(np.isnan(X), -np.inf, X - room), np.where(np.isnan(X), np.inf, X + room)
    low, high = (
        np.where(np.isnan(bound := spread_out(name, none if given is None else given, X.shape)), none, bound)
        for name, given, none in (("lower", lower, -np.inf), ("upper", upper, np.inf))
    )
    empty = ~((low <= high) & (low < np.inf) & (high > -np.inf))
    _refuse("lower is {0:g}, but upper is {1:g}: exchange them, or leave one of them infinite", empty, X, low, high)
    room_below, room_above = (slack * np.abs(np.where(np.isfinite(bound), bound, 0)) for bound in (low, high))
    return low - room_below, high + room_above


def _refuse(message: str, bad: Any, given: Any, *values: Floats) -> None:
    """Raise an error that says which entry is bad, where what was `given` is not one number for all."""
    if bad.any():
        i, j = np.argwhere(bad)[0]
        where = f" (row {i}, column {j})" if np.ndim(given) else ""
        raise InputError(message.format(*(float(value[i, j]) for value in values)) + where)


def common_boxes(low: Real, high: Real, labels: Labels) -> tuple[Floats, Floats]:
    """The intersection of the boxes of each group (-1: none); it is empty where the least exceeds the greatest."""
    shape, inside = (int(labels.max(initial=-1)) + 1, low.shape[1]), labels >= 0
    least, greatest = np.full(shape, -np.inf), np.full(shape, np.inf)
    np.maximum.at(least, labels[inside], low[inside])
    np.minimum.at(greatest, labels[inside], high[inside])
    return least, greatest


def midpoints(low: Floats, high: Floats) -> Floats:
    """The middle of each box: its finite end if there is one, NaN if there is none."""
    with np.errstate(invalid="ignore"):  # inf - inf, where nothing is known, is the NaN we want
        return np.where(np.isfinite(low), low, high) / 2 + np.where(np.isfinite(high), high, low) / 2
