"""Values that were rounded so much that different rows agree.

A row is joined to its nearest neighbours. If many rows have the same values, these are all its neighbours, and no edge
leads to the next value: the values fall apart into groups of their own. A value rounded to steps of d was anywhere
within d/2 of it, so for the search rows are spread out evenly over their steps.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fusewise.kernels.types import Real
from fusewise.observations import Entries

#: Values are rounded if this share of the gaps between neighbouring ones is the smallest gap: values of which many are
#: equal by rounding fill neighbouring places of their grid.
ROUNDED = 0.1
#: Of fewer different values each may be a group of its own, as answers are.
FEW_VALUES = 20
#: Rows are spread out if a row has so many equals (itself included) on average.
MANY_EQUAL = 3.0


def row_keys(table: Entries) -> npt.NDArray[np.void]:
    """A key for each row, the same for rows with the same entries."""
    rows = np.ascontiguousarray(np.where(table.mask, table.values, np.nan))
    return rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()


def step(values: Real) -> float:
    """The step to which different values, in increasing order, were rounded; 0 if they were not."""
    if len(values) < FEW_VALUES:
        return 0.0
    gaps = np.diff(values)
    smallest = float(gaps.min())
    return smallest if np.mean(gaps <= 1.001 * smallest) >= ROUNDED else 0.0


def spread_out(table: Entries, seed: int) -> Entries:
    """The rows moved by up to half a step in the columns that were rounded, if many of them are equal.

    Parameters
    ----------
    table : the rows; complex ones are returned as they are.
    seed : of the random numbers.
    """
    n, p = table.shape
    if table.dtype.kind == "c":
        return table
    _, equal = np.unique(row_keys(table), return_counts=True)
    if np.square(equal).sum() < MANY_EQUAL * n:
        return table
    steps = np.array([step(np.unique(column)) for column in table.columns()])
    moved = table.values + steps * np.random.default_rng(seed).uniform(-0.5, 0.5, (n, p))
    return Entries(np.where(table.mask, moved, 0), table.mask, table.feature_names) if steps.any() else table
