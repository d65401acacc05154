"""Resolution of the columns of a table: how finely their values were recorded."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from fusewise.kernels.types import Real
from fusewise.observations.kinds import InMemory

#: The steps of tables that are in use: every fit of clusters asks for them.
_known: WeakKeyDictionary[InMemory, Real] = WeakKeyDictionary()


def steps(table: InMemory) -> Real:
    """Step of each real column: the median gap between neighbouring distinct values (0 if there is one value)."""
    if table not in _known:
        _known[table] = np.array([_step(np.unique(column)) for column in table.columns()])
    return _known[table]


def blur(table: InMemory) -> Real:
    """(d/2)²: the variance at which the steps d of a column blur into a smooth density.

    Two equal Gaussians a distance d apart have a single mode if their standard deviation is at least d/2. With less,
    every value of a yes/no column, and every combination of such columns, would look like a cluster of its own. A
    column without repeated values has no steps, however few its values are: (d/2)² is scaled by the share of repeats.
    """
    found = np.zeros(table.shape[1])
    for j, column in enumerate(table.columns()):
        levels = np.unique(column)
        found[j] = np.square(_step(levels) / 2) * (1 - len(levels) / max(len(column), 1))
    return found


def _step(levels: Real) -> float:
    return float(np.median(np.diff(levels))) if len(levels) > 1 else 0.0
