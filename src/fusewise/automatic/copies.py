"""Values that were rounded so much that different rows agree.

A row is joined to its nearest neighbours. If many rows have the same values, these are all its neighbours, and no edge
leads to the next value: the values fall apart into groups of their own. A value rounded to steps of d was anywhere
within d/2 of it, so for the search rows are spread out evenly over their steps.

Rows that are copies of each other, which a weight or a repeated row makes: no evidence of a cluster.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Index, Mask, Real, Values
from fusewise.observations import Entries, InMemory

#: Standard deviations within which values of a column are the same.
SAME = 1e-6
#: Values are rounded if this share of the gaps between neighbouring ones is the smallest gap: values of which many are
#: equal by rounding fill neighbouring places of their grid.
ROUNDED = 0.1
#: Of fewer different values each may be a group of its own, as answers are.
FEW_VALUES = 20
#: Rows are spread out if a row has so many equals (itself included) on average.
MANY_EQUAL = 3.0


def canonical(table: Entries, numbers: Mask) -> tuple[Entries, Index]:
    """The rows in an order of their own, with nearly equal values made equal; and which row of the table each is.

    Values of a column that follow each other within `SAME` standard deviations are one value, rounded to a multiple of
    it. So nothing that is found depends on the order of the rows, on the units of the columns, or on last digits.

    Parameters
    ----------
    table : real columns, numbers in units of their standard deviations.
    numbers : which columns hold numbers; the levels of categories are left as they are.
    """
    values = np.where(table.mask, table.values, 0.0)
    for j in np.flatnonzero(numbers):
        seen = table.mask[:, j]
        column = table.values[seen, j]
        order = np.argsort(column, kind="stable")
        ordered = column[order]
        first = np.flatnonzero(np.diff(ordered, prepend=-np.inf) > SAME)
        same = np.repeat(ordered[first], np.diff(np.append(first, len(ordered))))
        settled = np.empty(len(column))
        settled[order] = SAME * np.round(same / SAME)
        values[seen, j] = settled
    order = np.lexsort((*values.T, *table.mask.T))
    return Entries(values[order], table.mask[order], table.feature_names), np.asarray(order, np.intp)


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
