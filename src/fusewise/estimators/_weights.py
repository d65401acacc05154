"""Weights of columns as users give them, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fusewise.kernels import Real
from fusewise.observations import Entries, SparseEntries
from fusewise.support import InputError, counted
from fusewise.tables import FrameEncoder, find_columns


def read_weights(given: Any, names: Sequence[str], encoder: FrameEncoder | None) -> Real | None:
    """How often each feature counts, given the names of the columns; None if each counts once.

    Of a mapping, columns that it does not name count once, and of two patterns for a column the later one holds.
    """
    if given is None:
        return None
    if isinstance(given, Mapping):
        weights, places = np.ones(len(names)), {name: j for j, name in enumerate(names)}
        for asked, weight in given.items():
            columns = find_columns(places, str(asked), "feature_weights")
            weights[[places[name] for name in columns]] = _number(weight, str(asked))
    elif isinstance(given, str) or np.ndim(given) != 1:
        raise InputError(
            f"feature_weights must be one number for each of the {len(names)} columns, or a mapping such as "
            f"{{'age': 2, 'q_*': 0.5}}; got {given!r}"
        )
    elif len(given) != len(names):
        have = f"{counted(len(given), 'number')}, but X has {counted(len(names), 'column')}"
        raise InputError(f"feature_weights has {have}: one number for each")
    else:
        weights = np.array([_number(weight, name) for weight, name in zip(given, names, strict=True)])
    if not weights.any():
        raise InputError("every feature_weights is zero: no column is left to cluster by")
    if (weights == 1).all():
        return None
    return weights if encoder is None else np.repeat(weights, [len(code.features) for code in encoder.columns])


def _number(weight: Any, name: str) -> float:
    try:
        number = float(weight)
    except (TypeError, ValueError):
        number = np.nan
    if not 0 <= number < np.inf:
        raise InputError(
            f"feature_weights of {name!r} is {weight!r}: a column counts 0 times or more often, 1 being the default"
        )
    return number


def counting(table: Any, weights: Real | None) -> Any:
    """A table (or the blocks of one of Dask) with nothing observed in the columns that do not count."""
    if weights is None or weights.all():
        return table
    if not isinstance(table, Entries | SparseEntries):
        raise InputError("a table that is not in memory takes no feature_weights of 0: leave these columns out of X")
    return table.without(np.flatnonzero(weights == 0))
