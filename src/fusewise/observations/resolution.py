"""How finely each column of a table was measured."""

from __future__ import annotations

import numpy as np

from fusewise.observations.entries import Real
from fusewise.observations.kinds import InMemory


def steps(table: InMemory) -> Real:
    """The step in which each real column was measured: the median gap between neighbouring values (0: one value)."""
    return np.array([_step(np.unique(column)) for column in table.columns()])


def blur(table: InMemory) -> Real:
    """The variance at which the steps of a column can no longer be told from a smooth curve, (d/2)².

    Two equal humps a distance d apart are one if their standard deviation is at least d/2. Seen more sharply, every
    value of a yes-or-no column, and every combination of several, would look like a cluster of its own. A column with
    no value twice has no steps, however few its values are: (d/2)² counts as far as values are repeated.
    """
    found = np.zeros(table.shape[1])
    for j, column in enumerate(table.columns()):
        levels = np.unique(column)
        found[j] = np.square(_step(levels) / 2) * (1 - len(levels) / max(len(column), 1))
    return found


def _step(levels: Real) -> float:
    return float(np.median(np.diff(levels))) if len(levels) > 1 else 0.0
