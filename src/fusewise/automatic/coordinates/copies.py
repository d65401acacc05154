"""Rows that are copies of each other, which a weight or a repeated row makes: no evidence of a cluster."""

from __future__ import annotations

import numpy as np

from fusewise.automatic.coordinates.rounding import row_keys, step
from fusewise.kernels.types import Real, Values
from fusewise.observations import Entries, InMemory

#: With fewer different rows than this the copies are what there is to see; with fewer entries a column says nothing.
FEW_DIFFERENT = 20
#: A cluster has at least so many different rows, or this share of all rows.
FEWEST_DIFFERENT, MANY_COPIES = 3.0, 0.1
#: Values of a column are measurements if this share of them, over different rows, differ.
OWN_VALUES = 0.5


def shares_of_copies(table: InMemory) -> Real | None:
    """1/m for each of m equal rows, so that they add up to the number of different rows; None if all differ.

    Rows are only copies if a column holds measurements, in which different rows hardly ever agree: answers,
    categories and rounded values of different rows are equal by nature. Of a few rows that are repeated, the copies may
    well be clusters.
    """
    if not isinstance(table, Entries):
        return None
    _, first, which, copies = np.unique(row_keys(table), return_index=True, return_inverse=True, return_counts=True)
    if len(first) == table.shape[0] or len(first) < FEW_DIFFERENT:
        return None
    different = table.take(first)
    return 1 / copies[which] if any(_is_measured(column) for column in different.columns()) else None


def _is_measured(column: Values) -> bool:
    """Whether equal values in a column of different rows would be no chance."""
    values = np.unique(column)
    own = len(column) >= FEW_DIFFERENT and len(values) >= OWN_VALUES * len(column)
    return own and not step(values.real)


def worth_of_rows(copies: Real | None) -> float:
    """How many different rows a row is worth: Kish's effective number of rows, over their number.

    Of N rows of which n are different, with m_1, ..., m_n copies, the effective number is N² / sum_k m_k².
    """
    return 1.0 if copies is None else float(1 / np.mean(1 / copies))
