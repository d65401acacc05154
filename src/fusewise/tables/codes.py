"""Numbers that are codes: in a table without measurements, a few whole numbers are the levels of a category."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace

import numpy as np

from fusewise.support.words import counted
from fusewise.tables.column_kinds import Column, Kind

#: A code has at most so many values, which are whole numbers, and each of them occurs in so many rows on average.
MOST_CODES, ROWS_EACH = 10, 5


def with_codes(columns: Iterable[Column], told: Container[str] = ()) -> tuple[Column, ...]:
    """Columns, numbers read as levels if every number of the table may be a code: two values a flag, more ordered.

    Such a column says which, not how much: its shares describe it whatever its shape. Beside measurements codes stay
    numbers, on one scale with them.

    Parameters
    ----------
    columns : as read.
    told : columns whose kind the user gave; a number among them is a measurement.
    """
    columns = tuple(columns)
    numbers = [column for column in columns if column.used and column.kind == Kind.NUMBER]
    if not all(_may_be_code(column) and column.name not in told for column in numbers):
        return columns
    return tuple(_as_levels(column) if column in numbers else column for column in columns)


def _may_be_code(column: Column) -> bool:
    seen = column.values[~np.isnan(column.values)]
    values = np.unique(seen)
    whole = bool(np.all(values == np.rint(values))) and column.affix == ("", "")
    return whole and len(values) <= min(MOST_CODES, len(seen) // ROWS_EACH)


def _as_levels(column: Column) -> Column:
    values, codes = np.unique(column.values, return_inverse=True, equal_nan=True)
    known = values[~np.isnan(values)]
    kind = Kind.FLAG if len(known) == 2 else Kind.ORDERED
    why = f"{column.why}; {counted(len(known), 'value')}, read as levels: the table has no measurements"
    positions = np.where(np.isnan(column.values), np.nan, codes)
    return replace(column, kind=kind, values=positions, categories=tuple(int(value) for value in known), why=why)
