"""Columns made symmetric, each by a power of its own (Yeo and Johnson, 2000)."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.preprocessing import PowerTransformer

from fusewise.kernels.types import Real
from fusewise.observations import Entries


def symmetric(table: Entries) -> Entries:
    """The table with every column as near to a normal distribution as a power makes it, mean 0 and variance 1."""
    values = np.zeros(table.shape)
    for column, mask in enumerate(table.mask.T):
        if mask.any():
            values[mask, column] = _by_power(table.values[mask, column].astype(float))
    return Entries(values, table.mask, table.feature_names)


def _by_power(values: Real) -> Real:
    """The values of one column; as they are if no power can be fitted to them.

    Powers depend on the origin and the unit. Values are counted from the end of the short tail, in units of the
    distance to the median, or of the standard deviation, where half of the values lie at that end.
    """
    long_tail = -1.0 if values.mean() < np.median(values) else 1.0
    counted = long_tail * values
    counted -= counted.min()
    unit = np.median(counted) or counted.std() or 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # powers tried on the way may overflow
        try:
            moved = PowerTransformer().fit_transform(counted[:, None] / unit)[:, 0]
        except (RuntimeError, ValueError):  # no power was found
            return values
    return np.asarray(long_tail * moved if np.isfinite(moved).all() else values)
