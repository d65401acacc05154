"""Rows in an order of their own; and rows that are copies of each other, which are no evidence of a cluster."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from fusewise.automatic._units import SAME
from fusewise.kernels import Index, Mask, Real, Values
from fusewise.observations import Entries, InMemory

#: Of fewer different values each may be a group of its own, as answers are; and with fewer different rows the copies
#: are what there is to see.
FEW = 20


def canonical(table: Entries, numbers: Mask) -> tuple[Entries, Index]:
    """The rows in an order of their own, with nearly equal values made equal; and which row of the table each is.

    Values of a column that follow each other within `SAME` standard deviations are one value, rounded to a multiple of
    it. So nothing that is found depends on the order of the rows, on the units of the columns, or on last digits. The
    `numbers` are in units of their standard deviations; the levels of categories are left as they are.
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
    # The last keys count most: the numbers, so that a coin toss moves no row.
    keys = [each for which in (~numbers, numbers) for each in (*values.T[which], *table.mask.T[which])]
    order = np.lexsort(keys)
    return replace(table, values=values).take(order), np.asarray(order, np.intp)


def row_keys(table: Entries) -> npt.NDArray[np.void]:
    """A key for each row, the same for rows with the same entries."""
    rows = np.ascontiguousarray(np.where(table.mask, table.values, np.nan))
    return rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()


def step(values: Real) -> float:
    """The step to which different values, in increasing order, were rounded; 0 if they were not.

    Rounded values of which many are equal fill neighbouring places of their grid: many gaps are the smallest one.
    """
    if len(values) < FEW:
        return 0.0
    gaps = np.diff(values)
    smallest = float(gaps.min())
    return smallest if np.mean(gaps <= 1.001 * smallest) >= 0.1 else 0.0


#: A cluster has at least so many different rows, or this share of all rows.
FEWEST_DIFFERENT, MANY_COPIES = 3.0, 0.1


def shares_of_copies(table: InMemory) -> Real | None:
    """1/m for each of m equal rows, so that they add up to the number of different rows; None if all differ.

    Rows are only copies if they have measurements, in which different rows hardly ever agree: answers, categories and
    rounded values of different rows are equal by nature. Of a few rows that are repeated, the copies may well be
    clusters.
    """
    if not isinstance(table, Entries):
        return None
    _, first, which, copies = np.unique(row_keys(table), return_index=True, return_inverse=True, return_counts=True)
    if len(first) == table.shape[0] or len(first) < FEW:
        return None
    measured = [_is_measured(column) for column in table.take(first).columns()]
    shares = np.where(table.mask[:, measured].any(axis=1), 1 / copies[which], 1.0)
    return shares if shares.min() < 1 else None


def _is_measured(column: Values) -> bool:
    """Whether equal values in a column of different rows would be no chance."""
    values = np.unique(column)
    own = len(column) >= FEW and len(values) >= len(column) / 2
    return own and not step(values.real)


def worth_of_rows(copies: Real | None) -> float:
    """How many different rows a row is worth: Kish's effective number of rows, over their number.

    Of N rows of which n are different, with m_1, ..., m_n copies, the effective number is N² / sum_k m_k².
    """
    return 1.0 if copies is None else float(1 / np.mean(1 / copies))
