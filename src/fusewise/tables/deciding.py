"""What a column is, and why: the rules, in the order in which they are tried."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from fusewise.kernels.words import counted, some_of
from fusewise.tables.column_kinds import USABLE, Column, Kind
from fusewise.tables.errors import InputError
from fusewise.tables.grids import Cells
from fusewise.tables.markers import Unmarked
from fusewise.tables.numbers import Floats, Numbers, read_numbers
from fusewise.tables.recognising import are_codes, odd_numbers, odd_text

#: A text column with more categories than this tells no clusters apart, and would outnumber the other features.
MOST_CATEGORIES = 20

#: Words among numbers are taken as missing values up to this share of the cells, and so many different ones.
FEW_SHARE, FEW_WORDS = 0.05, 3

#: A larger number stands for something else, such as the largest of all for "unknown"; and squares would overflow.
LARGEST = 1e150

#: Numbers that often stand for a missing value.
SUSPICIOUS = (-1, -9, -99, -999, -9999, -99999, 99, 999, 9999, 99999, 999999)

FLAGS = ({"false", "true"}, {"no", "yes"}, {"n", "y"}, {"f", "t"}, {"off", "on"})

Decision = tuple[Column, list[str]]


@dataclass(frozen=True)
class ColumnSpec:
    """What a user (or a model, for which `fixed` is True) says a column is.

    Attributes
    ----------
    kind : of the column.
    levels : of a category, the lowest first; empty: those that occur.
    fixed : the column was read before, for a model, and must be read the same way: constants and all.
    on_error : what becomes of a cell that is not a number: a few are taken as missing values, none, or all.
    missing : words that were taken as missing values when the model was fitted.
    """

    kind: Kind
    levels: tuple[Any, ...] = ()
    fixed: bool = False
    on_error: Literal["few", "raise", "missing"] = "few"
    missing: tuple[str, ...] = ()


def decide(name: str, column: Unmarked, decimal: str, told: ColumnSpec | None = None) -> Decision:
    """What a column is, and what the user should know of it.

    Parameters
    ----------
    column : its cells, None where missing.
    decimal : the decimal sign of the file.
    told : what it is, where that is known.
    """
    if told is not None and told.kind not in USABLE:
        return Column(name, told.kind, used=False, why=f"told that it is {_article(told.kind)}"), []
    seen = [cell for cell in column.cells if cell is not None]
    if not seen and not (told is not None and told.fixed):
        return Column(name, Kind.EMPTY, used=False, why="every entry is missing"), []
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
    """Whether few enough cells are not numbers; ``<0.1`` is not a word but a bound, and says more than "missing"."""
    odd = {str(cells[row]) for row in numbers.odd}
    words = all(word.replace(" ", "").isalpha() for word in odd) or not words_only
    return len(numbers.odd) <= FEW_SHARE * seen and len(odd) <= FEW_WORDS and words


def _spoilt(name: str, column: Unmarked, numbers: Numbers, seen: list[Any]) -> Column:
    """A column of which at least half are numbers, but not all: dates, or text with the first culprit named."""
    odd = odd_text(name, seen)
    if odd is not None:
        return Column(name, Kind(odd[0]), used=False, why=odd[1])
    row = numbers.odd[0]
    more = f" (and {counted(len(numbers.odd) - 1, 'more cell')})" if len(numbers.odd) > 1 else ""
    why = f"mostly numbers, but row {row + 1} holds {column.cells[row]!r}{more}"
    return Column(name, Kind.TEXT, used=False, why=f"{why}: fix it, leave it empty, or name it in missing (--missing)")


def _number(name: str, column: Unmarked, numbers: Numbers, *, told: bool = False) -> Decision:
    values = numbers.values
    seen = values[~np.isnan(values)]
    if not len(seen):
        return Column(name, Kind.EMPTY, used=False, why="every entry is missing"), []
    least, largest = float(seen.min()), float(seen.max())
    if least == largest:
        return Column(name, Kind.CONSTANT, used=False, why=f"constant: {least:g} wherever observed"), []
    odd = None if told else odd_numbers(name, values)
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
    return f"column {name!r}: {cells} taken as missing: {shown}; the first is in row {row}"


def _missing(markers: Counter[str]) -> str:
    """How many values are missing, and how that is written; nothing where none is."""
    if not markers.total():
        return ""
    words = ["empty" if not word else repr(word) for word, _ in markers.most_common()]
    return f"; {markers.total():,} missing ({some_of(words, 4)})"


def _suspicious(seen: Floats) -> list[str]:
    """Numbers that often stand for missing values and lie outside the range of the others; they stay as they are.

    Outside is further away than the others spread, or negative where five or more different others are not.
    """
    present = set(seen.tolist())
    here = [value for value in SUSPICIOUS if value in present]
    others = present.difference(here)
    if not here or not others:
        return []
    low, high = min(others), max(others)
    outside = [v for v in here if (v < 0 <= low and len(others) >= 5) or max(low - v, v - high) > max(high - low, 1)]
    return [
        f"{value} ({counted(int((seen == value).sum()), 'cell')}) is far outside the other values "
        f"({low:g} to {high:g}) and was kept; if it stands for a missing value, name it in missing (--missing {value})"
        for value in outside
    ]


def _text(name: str, column: Unmarked, seen: list[Any]) -> Decision:
    """A column that does not hold numbers."""
    if all(isinstance(cell, str | bool | np.bool_) for cell in seen) and {str(cell).lower() for cell in seen} in FLAGS:
        return _levels(name, Kind.FLAG, column), []
    odd = odd_text(name, seen)
    if odd is not None:
        return Column(name, Kind(odd[0]), used=False, why=odd[1]), []
    if not all(isinstance(cell, str | int | float | np.generic) for cell in seen):
        return Column(name, Kind.TEXT, used=False, why=f"holds {type(seen[0]).__name__} values, not numbers"), []
    distinct = len(set(map(level_key, seen)))
    kind, why = Kind.TEXT, f"text with {distinct} distinct values in {len(seen)} rows: too many for categories"
    if distinct == 1:
        kind, why = Kind.CONSTANT, f"constant: {seen[0]!r} wherever observed"
    elif distinct == len(seen):
        kind, why = Kind.IDENTIFIER, "an identifier: text that differs in every row"
    elif distinct <= _most_categories(seen):
        return _levels(name, Kind.CATEGORY, column), []
    elif are_codes(seen):
        kind, why = Kind.IDENTIFIER, "codes: digits with zeros before them, not amounts"
    return Column(name, kind, used=False, why=why), []


def _most_categories(seen: list[Any]) -> int:
    """So many values make categories: each is in two rows or more, on average."""
    return min(MOST_CATEGORIES, len(seen) // 2)


def level_key(cell: Any, kind: str = Kind.CATEGORY) -> str:
    """What tells the levels of a column apart: the text (1 for 1.0), for flags in whatever capitals."""
    text = str(int(cell)) if isinstance(cell, float | np.floating) and float(cell).is_integer() else str(cell)
    return text.lower() if kind == Kind.FLAG else text


def _levels(name: str, kind: Kind, column: Unmarked, levels: tuple[Any, ...] = ()) -> Column:
    """Codes of the levels: those given, or those seen in alphabetical (for numbers: numerical) order."""
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
    """A column that is used as the user, or the model, says."""
    if told.kind == Kind.NUMBER:
        return _told_number(name, column, decimal, told)
    made = _levels(name, told.kind, column, told.levels)
    unknown = [row for row, cell in enumerate(column.cells) if cell is not None and math.isnan(made.values[row])]
    notes = []
    if unknown and not told.fixed:
        given = (" < " if told.kind == Kind.ORDERED else ", ").join(map(str, told.levels))
        raise InputError(
            f"column {name!r}, row {unknown[0] + 1}: {column.cells[unknown[0]]!r} is not one of the values given "
            f"({given}); add it to them, or to missing (--missing)"
        )
    if unknown:
        words = sorted({str(column.cells[row]) for row in unknown})
        shown = ", ".join(map(repr, words[:4])) + (", ..." if len(words) > 4 else "")
        notes.append(f"column {name!r} has values unknown to the model ({shown}): taken as missing")
    if told.fixed:
        return made, notes
    if told.kind == Kind.FLAG and len(made.categories) > 2:
        raise InputError(f"column {name!r}: a flag has two values, and this has {len(made.categories)}; use 'category'")
    present = {code for code in made.values if not math.isnan(code)}
    if len(present) < 2:
        only = made.categories[int(present.pop())]
        return Column(name, Kind.CONSTANT, used=False, why=f"constant: {only!r} wherever observed"), notes
    return made, notes


def _told_number(name: str, column: Unmarked, decimal: str, told: ColumnSpec) -> Decision:
    cells = column.cells
    numbers = read_numbers(cells, decimal)
    seen = sum(cell is not None for cell in cells)
    allowed = told.on_error == "missing" or (told.on_error == "few" and _few(numbers, cells, seen, words_only=False))
    if numbers.odd and not allowed:
        row = numbers.odd[0]
        more = f" (and {counted(len(numbers.odd) - 1, 'more cell')})" if len(numbers.odd) > 1 else ""
        remedy = "--on-error missing takes such cells as missing" if told.fixed else "name it in missing (--missing)"
        raise InputError(f"column {name!r}, row {row + 1}: {cells[row]!r} is not a number{more}; fix it, or {remedy}")
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
    """Raise where a number is infinite, or so large that it can only stand for something else."""
    beyond = np.flatnonzero(np.abs(column.values) > LARGEST)
    if len(beyond):
        first = column.values[beyond[0]]
        what = "infinite" if math.isinf(first) else f"{first:g} is too large"
        more = f" (and {len(beyond) - 1} more)" if len(beyond) > 1 else ""
        raise InputError(f"column {column.name!r}, row {beyond[0] + 1}{more}: {what}; leave an unknown entry empty")


def left_out(column: Column, why: str, kind: Kind | None = None) -> Column:
    """The column, not used for a reason that has nothing to do with its cells."""
    return replace(column, used=False, why=why, kind=column.kind if kind is None else kind)
