"""Columns made symmetric, each by a power of its own (Yeo and Johnson, 2000)."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.preprocessing import PowerTransformer

from fusewise.observations import Entries


def symmetric(table: Entries) -> Entries:
    """The table with every column as near to a normal distribution as a power makes it, mean 0 and variance 1.

    Powers depend on the origin and the unit. Values are counted from the end of the short tail, in units of the
    distance to the median, or of the standard deviation, where half of the values lie at that end.
    """
    seen = table.mask.any(axis=0)
    values = np.where(table.mask, table.values, np.nan)[:, seen]
    long_tail = np.where(np.nanmean(values, axis=0) < np.nanmedian(values, axis=0), -1.0, 1.0)
    values *= long_tail
    values -= np.nanmin(values, axis=0)
    middle = np.nanmedian(values, axis=0)
    unit = np.where(middle > 0, middle, np.nanstd(values, axis=0))
    moved = np.zeros(table.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # powers tried on the way may overflow
        moved[:, seen] = long_tail * PowerTransformer().fit_transform(values / np.where(unit > 0, unit, 1.0))
    return Entries(np.where(table.mask & np.isfinite(moved), moved, 0.0), table.mask, table.feature_names)
