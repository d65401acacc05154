"""What each column of a table is: a number, a category, an ordered one or a flag, and its levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from fusewise.kernels.words import counted, some_of
from fusewise.tables.column_codes import OTHER, ColumnCode, plain
from fusewise.tables.column_kinds import Column
from fusewise.tables.frames import DATE_KINDS, dtype_of, entries_of, is_text_or_flag

#: Levels of a category told apart; rarer ones are pooled.
MOST_LEVELS = 50

#: What a user can do about a column of dates.
DATES = "convert it to numbers (days since a date, month, weekday) or drop it"


def asked_positions(features: Any, names: Sequence[str]) -> set[int] | None:
    """Positions of the columns named as categories; None: by their dtypes.

    Parameters
    ----------
    features : the parameter ``categorical_features``.
    names : names of the columns.
    """
    if isinstance(features, str):
        if features != "from_dtype":
            raise ValueError(f"categorical_features={features!r}: use 'from_dtype', a mask, indices or names")
        return None
    given = np.asarray([] if features is None else features)
    if given.dtype == bool:
        if len(given) != len(names):
            raise ValueError(f"categorical_features is a mask of {len(given)} for {counted(len(names), 'column')}")
        return set(np.flatnonzero(given).tolist())
    if given.dtype.kind in "US" or given.dtype == object:
        unknown = [name for name in given.tolist() if name not in names]
        if unknown:
            raise ValueError(f"categorical_features names {unknown[0]!r}, which is not a column: {some_of(names)}")
        return {names.index(name) for name in given.tolist()}
    outside = [j for j in given.tolist() if not -len(names) <= j < len(names)]
    if outside:
        raise ValueError(f"categorical_features has index {outside[0]}, and there are {counted(len(names), 'column')}")
    return {int(j) % len(names) for j in given.tolist()}


def code_of(name: str, column: Any, asked: bool | None) -> ColumnCode:
    """How a column is encoded.

    Parameters
    ----------
    name : its name.
    column : one of ``columns_of``.
    asked : whether it is said to be a category; None: by its dtype.
    """
    dtype = dtype_of(column)
    if dtype.startswith(DATE_KINDS):
        raise ValueError(f"column {name!r} holds dates or times ({dtype}): {DATES}")
    if not (is_text_or_flag(column) if asked is None else asked):
        return ColumnCode(name, "number", dtype="float64" if isinstance(column, Column) else dtype)
    entries = [plain(entry) for entry in entries_of(column) if entry is not None]
    if isinstance(column, Column):
        return _from_file(name, column, entries)
    if dtype.startswith(("categor", "enum")):
        kind, order = _declared(column, dtype)
        return ColumnCode(name, kind, frequent(entries, order), dtype)
    odd = next((entry for entry in entries if not isinstance(entry, str | bool | int | float)), None)
    if odd is not None:
        raise ValueError(f"column {name!r} holds {type(odd).__name__} values, such as {odd!r}: {DATES}")
    flags = all(isinstance(entry, bool) for entry in entries)
    return ColumnCode(name, "flag" if flags else "category", frequent(entries), dtype)


def _from_file(name: str, column: Column, entries: list[Any]) -> ColumnCode:
    """A column of a file; its levels are those that a frame of it would have."""
    levels = frequent(entries, {level: k for k, level in enumerate(column.levels)})
    spelling = dict(zip(column.levels, column.categories, strict=True))
    words = tuple(spelling[level] for level in levels) if column.is_boolean else ()
    return ColumnCode(name, str(column.kind), levels, "object", words)


def _declared(column: Any, dtype: str) -> tuple[str, dict[Any, int]]:
    """The kind of a column that may list its levels, and their order."""
    if hasattr(column, "iloc"):
        known, ordered = column.cat.categories.tolist(), bool(column.cat.ordered)
    else:  # of polars' two kinds only an Enum lists its levels, in their order
        ordered = dtype.startswith("enum")
        known = list(column.dtype.categories) if ordered else []
    return "ordered" if ordered else "category", {plain(level): k for k, level in enumerate(known)}


def frequent(entries: list[Any], order: dict[Any, int] | None = None) -> tuple[Any, ...]:
    """The levels that occur, in their order or else sorted; of too many, the most frequent, and one for the rest."""
    counts = Counter(entries)
    by_value = sorted(counts, key=lambda level: (str(type(level)), level))
    position = order or {level: k for k, level in enumerate(by_value)}
    kept = sorted(counts, key=lambda level: (-counts[level], position[level]))[:MOST_LEVELS]
    rest = () if len(counts) <= MOST_LEVELS else (OTHER,)
    return (*sorted(kept, key=position.__getitem__), *rest)
