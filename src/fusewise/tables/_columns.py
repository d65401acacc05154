"""The kind of each column, and the reason: the rules, in the order in which they are applied."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal

import numpy as np

from fusewise.kernels import Floats
from fusewise.observations import LARGEST
from fusewise.support.errors import InputError
from fusewise.support.words import counted, some_of
from fusewise.tables._cells import Numbers, Unmarked, read_numbers
from fusewise.tables._grid import Cells
from fusewise.tables._recognition import are_codes, odd_numbers, odd_text


class Kind(StrEnum):
    """The kind of a column; the first four can be used for clustering."""

    NUMBER = "number"
    CATEGORY = "category"
    ORDERED = "ordered"
    FLAG = "flag"
    DATE = "date"
    IDENTIFIER = "identifier"
    TEXT = "text"
    CONSTANT = "constant"
    EMPTY = "empty"
    LABEL = "label"


#: Kinds that can be used for clustering.
USABLE = frozenset({Kind.NUMBER, Kind.CATEGORY, Kind.ORDERED, Kind.FLAG})


#: Words of flags, in lower case; the alphabet puts the one that means "no" first.
FLAGS = ({"false", "true"}, {"no", "yes"}, {"n", "y"}, {"f", "t"}, {"off", "on"}, {"0", "1"})


@dataclass(frozen=True, eq=False)
class Column:
    """A column and how it was read.

    Attributes
    ----------
    name, kind : its name in the file, and its kind.
    values : numbers, or positions in `categories`; NaN if missing. Empty for kinds that cannot be used.
    categories : the categories as the user spelled them, lowest first; empty for numbers.
    used : whether it is used for clustering.
    why : how it was read, or why it is not used.
    affix : text before and after each number: a currency, a unit or a percent sign.
    missing : words treated as missing values in this column only.
    """

    name: str
    kind: Kind
    values: Floats = field(default_factory=lambda: np.empty(0))
    categories: tuple[Any, ...] = ()
    used: bool = True
    why: str = ""
    affix: tuple[str, str] = ("", "")
    missing: tuple[str, ...] = ()

    @property
    def is_boolean(self) -> bool:
        """Whether it is a flag whose words mean no and yes."""
        return self.kind == Kind.FLAG and {str(category).lower() for category in self.categories} in FLAGS

    @property
    def levels(self) -> tuple[Any, ...]:
        """The values that entries have in a frame: False and True, or the categories."""
        return (False, True) if self.is_boolean else self.categories

    @property
    def entries(self) -> list[Any]:
        """Numbers or levels, None if missing."""
        missing = np.isnan(self.values)
        if self.kind == Kind.NUMBER:
            entries = self.values.astype(object)
            entries[missing] = None
            return list(entries)
        known = np.empty(len(self.categories) + 1, dtype=object)
        known[:-1] = self.levels
        return list(known[np.where(missing, -1, self.values).astype(int)])


#: Text columns with more categories are not used: they rarely separate clusters, and would dominate the features.
MOST_CATEGORIES = 20

#: Words among numbers are treated as missing up to this fraction of the cells, and this number of different words.
FEW_SHARE, FEW_WORDS = 0.05, 3

#: Numbers that often stand for a missing value.
SUSPICIOUS = (-1, -9, -99, -999, -9999, -99999, 99, 999, 9999, 99999, 999999)

Decision = tuple[Column, list[str]]


@dataclass(frozen=True)
class ColumnSpec:
    """How to read a column, as specified by the user or (with `fixed`) by a saved model.

    Attributes
    ----------
    kind : kind of the column.
    levels : categories, lowest first; empty: those that occur.
    fixed : read the column as in the fit of a model, even if it is constant or empty now.
    on_error : which cells that are not numbers are treated as missing: a few ("few"), none ("raise") or all.
    missing : words treated as missing values when the model was fitted.
    """

    kind: Kind
    levels: tuple[Any, ...] = ()
    fixed: bool = False
    on_error: Literal["few", "raise", "missing"] = "few"
    missing: tuple[str, ...] = ()


def decide(name: str, column: Unmarked, decimal: str, told: ColumnSpec | None = None) -> Decision:
    """Decide the kind of a column, and return notes for the user.

    Parameters
    ----------
    column : its cells, None if missing.
    decimal : the decimal separator of the file.
    told : how to read it, if specified.
    """
    if told is not None and told.kind not in USABLE:
        return Column(name, told.kind, used=False, why=f"specified as {_article(told.kind)}"), []
    seen = [cell for cell in column.cells if cell is not None]
    if not seen and not (told is not None and told.fixed):
        return Column(name, Kind.EMPTY, used=False, why="all values are missing"), []
    if told is not None:
        return _as_told(name, column, decimal, told)
    if not _are_bools(seen) and not are_codes(seen):
        numbers = read_numbers(column.cells, decimal)
        if _few(numbers, column.cells, len(seen), words_only=True):
            return _number(name, column, numbers)
        # 1st, 2nd, 3rd are not numbers with units but categories.
        few = numbers.bare < 0.5 * len(seen) and len(set(map(level_key, seen))) <= _most_categories(seen)
        if len(seen) - len(numbers.odd) >= 0.5 * len(seen) and not few:
            return _spoilt(name, column, numbers, seen), []
    return _text(name, column, seen)


def _article(kind: Kind) -> str:
    return {Kind.IDENTIFIER: "an identifier", Kind.EMPTY: "empty", Kind.TEXT: "text"}.get(kind, f"a {kind}")


def _are_bools(seen: list[Any]) -> bool:
    return all(isinstance(cell, bool | np.bool_) for cell in seen)


def _few(numbers: Numbers, cells: Cells, seen: int, *, words_only: bool) -> bool:
    """Whether only a few cells are not numbers; a bound such as ``<0.1`` is information, not a missing value."""
    odd = {str(cells[row]) for row in numbers.odd}
    words = all(word.replace(" ", "").isalpha() for word in odd) or not words_only
    return len(numbers.odd) <= FEW_SHARE * seen and len(odd) <= FEW_WORDS and words


def _spoilt(name: str, column: Unmarked, numbers: Numbers, seen: list[Any]) -> Column:
    """A column of which at least half, but not all, are numbers: dates, or text, with the first such row reported."""
    odd = odd_text(name, seen)
    if odd is not None:
        return Column(name, Kind(odd[0]), used=False, why=odd[1])
    row = numbers.odd[0]
    more = f" (and {counted(len(numbers.odd) - 1, 'more cell')})" if len(numbers.odd) > 1 else ""
    if len(numbers.units) > 1 and not numbers.bare:
        units = f"numbers in different units ({some_of(numbers.units, 4)})"
        why = f"{units}, such as {column.cells[row]!r} in row {row + 1}: convert them to one"
        return Column(name, Kind.TEXT, used=False, why=why)
    why = f"mostly numbers, but row {row + 1} contains {column.cells[row]!r}{more}"
    return Column(
        name, Kind.TEXT, used=False, why=f"{why}: correct it, leave it empty, or list it in missing (--missing)"
    )


def _number(name: str, column: Unmarked, numbers: Numbers, *, told: bool = False) -> Decision:
    values = numbers.values
    seen = values[~np.isnan(values)]
    if not len(seen):
        return Column(name, Kind.EMPTY, used=False, why="all values are missing"), []
    least, largest = float(seen.min()), float(seen.max())
    if least == largest:
        return Column(name, Kind.CONSTANT, used=False, why=f"constant: every observed value is {least:g}"), []
    odd = None if told else odd_numbers(name, values)
    if odd is not None and odd[0] == Kind.CATEGORY:
        levels = _levels(name, Kind.CATEGORY, column)
        return replace(levels, why=f"{levels.why}; {odd[1]}"), []
    if odd is not None:
        return Column(name, Kind(odd[0]), used=False, why=odd[1]), []
    words = Counter(str(column.cells[row]) for row in numbers.odd)
    before, after = numbers.affix
    why = f"{before}{least:g}{after} to {before}{largest:g}{after}{_missing(column.markers + words)}"
    notes = [] if not words else [_words_note(name, words, numbers.odd[0] + 1)]
    notes += [f"column {name!r}: {note}" for note in _suspicious(seen)]
    return Column(name, Kind.NUMBER, values, why=why, affix=numbers.affix, missing=tuple(words)), notes


def _words_note(name: str, words: Counter[str], row: int) -> str:
    shown = some_of([f"{word!r} ({count})" for word, count in words.most_common()])
    cells = counted(words.total(), "cell is not a number and was", "cells are not numbers and were")
    return f"column {name!r}: {cells} treated as missing: {shown}; the first is in row {row}"


def _missing(markers: Counter[str]) -> str:
    """Format the number of missing values and their markers; empty if there are none."""
    if not markers.total():
        return ""
    words = ["empty" if not word else repr(word) for word, _ in markers.most_common()]
    return f"; {markers.total():,} missing ({some_of(words, 4)})"


def _suspicious(seen: Floats) -> list[str]:
    """Notes on numbers that often encode missing values and are far from the other values; they are kept.

    Far means further away than the range of the others, or negative if five or more different others are not. A single
    other value has no range: -1 and 1 are two answers.
    """
    present = set(seen.tolist())
    here = [value for value in SUSPICIOUS if value in present]
    others = present.difference(here)
    if not here or len(others) < 2:
        return []
    low, high = min(others), max(others)
    outside = [v for v in here if (v < 0 <= low and len(others) >= 5) or max(low - v, v - high) > max(high - low, 1)]
    return [
        f"{value} ({counted(int((seen == value).sum()), 'cell')}) is far outside the other values "
        f"({low:g} to {high:g}) and was kept; if it means a missing value, list it in missing (--missing {value})"
        for value in outside
    ]


def _text(name: str, column: Unmarked, seen: list[Any]) -> Decision:
    """The kind of a column that does not contain numbers."""
    if all(isinstance(cell, str | bool | np.bool_) for cell in seen) and {str(cell).lower() for cell in seen} in FLAGS:
        return _levels(name, Kind.FLAG, column), []
    odd = odd_text(name, seen)
    if odd is not None:
        return Column(name, Kind(odd[0]), used=False, why=odd[1]), []
    if not all(isinstance(cell, str | int | float | np.generic) for cell in seen):
        return Column(
            name, Kind.TEXT, used=False, why=f"values of type {type(seen[0]).__name__}, not numbers or text"
        ), []
    distinct = len(set(map(level_key, seen)))
    kind, why = Kind.TEXT, f"text with {distinct} distinct values in {len(seen)} rows: too many for categories"
    if distinct == 1:
        kind, why = Kind.CONSTANT, f"constant: every observed value is {seen[0]!r}"
    elif distinct == len(seen):
        kind, why = Kind.IDENTIFIER, "identifier: text that differs in every row"
    elif distinct <= _most_categories(seen):
        return _levels(name, Kind.CATEGORY, column), []
    elif are_codes(seen):
        kind, why = Kind.IDENTIFIER, "codes: digits with leading zeros, not amounts"
    return Column(name, kind, used=False, why=why), []


def _most_categories(seen: list[Any]) -> int:
    """Maximum number of categories: each must occur in two rows or more on average."""
    return min(MOST_CATEGORIES, len(seen) // 2)


def level_key(cell: Any, kind: str = Kind.CATEGORY) -> str:
    """The text that identifies a category (1 for 1.0); case is ignored for flags."""
    text = str(int(cell)) if isinstance(cell, float | np.floating) and float(cell).is_integer() else str(cell)
    return text.lower() if kind == Kind.FLAG else text


def _levels(name: str, kind: Kind, column: Unmarked, levels: tuple[Any, ...] = ()) -> Column:
    """Encode the levels: those given, or those that occur in alphabetical (for numbers: numerical) order."""
    spelling: dict[str, Any] = {level_key(level, kind): level for level in levels}
    if not levels:
        for cell in column.cells:
            if cell is not None:
                spelling.setdefault(level_key(cell, kind), cell)
        spelling = {key: spelling[key] for key in sorted(spelling, key=_order)}
    order = {key: code for code, key in enumerate(spelling)}
    codes = [np.nan if cell is None else order.get(level_key(cell, kind), np.nan) for cell in column.cells]
    sign = " < " if kind == Kind.ORDERED else ", "
    more = f"{sign}..." if len(spelling) > 6 else ""
    why = f"{counted(len(spelling), 'value')}: {sign.join(map(str, [*spelling.values()][:6]))}{more}"
    return Column(name, kind, np.array(codes, dtype=float), tuple(spelling.values()),
                  why=why + _missing(column.markers))  # fmt: skip


def _order(key: str) -> tuple[float, str]:
    try:
        return float(key), key
    except ValueError:
        return math.inf, key


def _as_told(name: str, column: Unmarked, decimal: str, told: ColumnSpec) -> Decision:
    """Read a column as specified by the user or the model."""
    if told.kind == Kind.NUMBER:
        return _told_number(name, column, decimal, told)
    made = _levels(name, told.kind, column, told.levels)
    unknown = [row for row, cell in enumerate(column.cells) if cell is not None and math.isnan(made.values[row])]
    notes = []
    if unknown and not told.fixed:
        given = (" < " if told.kind == Kind.ORDERED else ", ").join(map(str, told.levels))
        raise InputError(
            f"column {name!r}, row {unknown[0] + 1}: {column.cells[unknown[0]]!r} is not one of the given values "
            f"({given}); add it to them, or list it in missing (--missing)"
        )
    if unknown:
        words = sorted({str(column.cells[row]) for row in unknown})
        shown = some_of([repr(word) for word in words], 4)
        notes.append(f"column {name!r} has values unknown to the model ({shown}): treated as missing")
    if told.fixed:
        return made, notes
    if told.kind == Kind.FLAG and len(made.categories) > 2:
        raise InputError(
            f"column {name!r}: a flag has two values, but this column has {len(made.categories)}; use 'category'"
        )
    present = {code for code in made.values if not math.isnan(code)}
    if len(present) < 2:
        only = made.categories[int(present.pop())]
        return Column(name, Kind.CONSTANT, used=False, why=f"constant: every observed value is {only!r}"), notes
    return made, notes


def _told_number(name: str, column: Unmarked, decimal: str, told: ColumnSpec) -> Decision:
    cells = column.cells
    numbers = read_numbers(cells, decimal)
    seen = sum(cell is not None for cell in cells)
    allowed = told.on_error == "missing" or (told.on_error == "few" and _few(numbers, cells, seen, words_only=False))
    if numbers.odd and not allowed:
        row = numbers.odd[0]
        more = f" (and {counted(len(numbers.odd) - 1, 'more cell')})" if len(numbers.odd) > 1 else ""
        remedy = (
            "use --on-error missing to treat such cells as missing" if told.fixed else "list it in missing (--missing)"
        )
        raise InputError(
            f"column {name!r}, row {row + 1}: {cells[row]!r} is not a number{more}; correct it, or {remedy}"
        )
    if not told.fixed:
        return _number(name, column, numbers, told=True)
    values, notes = numbers.values, []
    rows = list(numbers.odd)
    if told.on_error == "missing":
        beyond = np.flatnonzero(np.abs(values) > LARGEST)
        values[beyond] = np.nan
        rows = sorted([*rows, *beyond.tolist()])
    if rows:
        notes.append(_words_note(name, Counter(str(cells[row]) for row in rows), rows[0] + 1))
    return Column(name, Kind.NUMBER, values, affix=numbers.affix), notes


def refuse_too_large(column: Column) -> None:
    """Raise ``InputError`` if a number is infinite or too large to be a measurement."""
    beyond = np.flatnonzero(np.abs(column.values) > LARGEST)
    if len(beyond):
        first = column.values[beyond[0]]
        what = f"{first:g} is {'infinite' if math.isinf(first) else 'too large'}"
        more = f" (and {len(beyond) - 1} more)" if len(beyond) > 1 else ""
        raise InputError(f"column {column.name!r}, row {beyond[0] + 1}{more}: {what}; leave unknown values empty")


def left_out(column: Column, why: str, kind: Kind | None = None) -> Column:
    """The column, marked as not used for the given reason."""
    return replace(column, used=False, why=why, kind=column.kind if kind is None else kind)


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
