"""The kind of each column, and the reason: the rules, in the order in which they are applied."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Floats
from fusewise.observations import LARGEST
from fusewise.support import InputError, counted, some_of
from fusewise.tables._cells import HalfKnown, Numbers, Unmarked, read_numbers, unit_of
from fusewise.tables._dates import are_dates, are_in_order, day_comes_first, numbered_dates, seconds_of, shown
from fusewise.tables._grid import Cells, as_cells
from fusewise.tables._recognition import LEAST_COUNTED, are_codes, are_groups, number_role


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


@dataclass(frozen=True)
class ColumnSpec:
    """How to read a column, as the user specifies, or (with `fixed`) as in the fit of a model or a sample of the rows.

    Attributes
    ----------
    kind : its kind.
    levels : categories, lowest first; empty: those that occur.
    fixed : whether the column is used even if it is constant or empty now.
    on_error : which cells that are not numbers are treated as missing.
    missing, unit, day_first, limit, limits_missing : those of the column as it was read before; unit None: unknown.
    is_open : whether values that are not among the levels are levels, too.
    """

    kind: Kind
    levels: tuple[Any, ...] = ()
    fixed: bool = False
    on_error: Literal["few", "raise", "missing"] = "few"
    missing: Sequence[str] = ()
    unit: str | None = None
    day_first: bool = False
    limit: float | None = None
    limits_missing: bool = False
    is_open: bool = False


#: Words of flags, in lower case; the alphabet puts the one that means "no" first.
FLAGS = ({"false", "true"}, {"no", "yes"}, {"n", "y"}, {"f", "t"}, {"off", "on"}, {"0", "1"})


@dataclass(frozen=True, eq=False)
class Column:
    """A column and how it was read.

    Attributes
    ----------
    name, kind : its name in the file, and its kind.
    values : numbers, positions in `categories`, or seconds since 1970; NaN if missing. Empty for other kinds.
    categories : the categories as the user spelled them, lowest first; empty for numbers.
    used : whether it is used for clustering.
    why : how it was read, or why it is not used.
    affix : text before and after each number: a currency, a unit or a percent sign.
    half : what is known of the entries of a column of numbers that are not known exactly; None: nothing.
    limit : the value below which missing entries, or those below a limit that the file does not say, lie if the user
        says so.
    limits_missing : whether this is the limit of missing entries.
    missing : words treated as missing values in this column only.
    day_first : whether 1/2/2024 is the first of February, in a column of dates or one made of it.
    notes : assumptions made while reading it, and suspicious values.
    """

    name: str
    kind: Kind
    values: Floats = field(default_factory=lambda: np.empty(0))
    categories: tuple[Any, ...] = ()
    used: bool = True
    why: str = ""
    affix: tuple[str, str] = ("", "")
    half: HalfKnown | None = None
    limit: float | None = None
    limits_missing: bool = False
    missing: tuple[str, ...] = ()
    day_first: bool = False
    notes: tuple[str, ...] = ()

    @property
    def absent(self) -> npt.NDArray[np.bool_]:
        """Whether the file says nothing of each entry, neither its value nor bounds or a limit."""
        return np.isnan(self.values) if self.half is None else np.isnan(self.values) & ~self.half.said

    def below(self, limit: float | None, limits_missing: bool | None = None) -> Column:
        """The same column, with a limit of its missing entries or of those below a limit that the file does not say.

        A limit of None is the smallest value. By default it is of missing entries if there are no others.
        """
        limit = float(np.nanmin(self.values)) if limit is None else limit
        half = self.half or HalfKnown.nothing(len(self.values))
        where = np.isnan(half.upper)
        of_missing = not where.any() if limits_missing is None else limits_missing
        if of_missing:
            where |= np.isnan(self.values) & ~half.said
        words = f"{'missing ones are below' if of_missing else 'the limit is'} {limit:g}"
        half = replace(half, upper=np.where(where, limit, half.upper), words=words)
        return replace(self, half=half, limit=limit, limits_missing=of_missing, why=f"{self.why}; {words}")

    @property
    def as_read(self) -> ColumnSpec:
        """How to read further rows likewise: with further levels, unless they are yes and no, or ordered words."""
        is_open = not self.is_boolean and (self.kind != Kind.ORDERED or are_numbers(self.categories))
        return ColumnSpec(
            self.kind, self.categories, True, "raise", self.missing, unit_of(self.affix), self.day_first, self.limit,
            self.limits_missing, is_open,
        )  # fmt: skip

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
        values, levels = self.values.tolist(), self.levels
        if self.kind == Kind.NUMBER:
            return [None if math.isnan(value) else value for value in values]
        return [None if math.isnan(code) else levels[int(code)] for code in values]


def are_numbers(levels: Sequence[Any]) -> bool:
    """Whether there are levels, all of them numbers."""
    return bool(levels) and not any(isinstance(level, str | bool) for level in levels)


#: Whole numbers that are answers on a scale: none is further from zero than this, there are at most so many of them,
#: and each is in so many rows on average.
FURTHEST_ANSWER, MOST_ANSWERS, ROWS_EACH = 10, 11, 5

#: Words among numbers are treated as missing up to this fraction of the cells, and this number of different words.
FEW_SHARE, FEW_WORDS = 0.05, 3

#: Numbers that often stand for a missing value; those of the second line do beside one of the first line.
CODES = frozenset((-1, -9, -99, -999, -9999, -99999, 9, 99, 999, 9999, 99999, 999999, 99.9, 999.9, 99.99, 999.99))
OTHER_CODES = frozenset((7, 8, 77, 88, 97, 98, 777, 888, 997, 998, -7, -8, -77, -88, -97, -98, -777, -888))
#: A code in so many cells, in so many times as many as its neighbours have on average, and further from them than this
#: share of their range, is no measurement.
PILE, TIMES_NEIGHBOURS, LEAST_GAP = 5, 5, 0.05
#: A value in a larger share of the cells than this is no code: most amounts may be zero.
MOST_MISSING = 0.25
#: Codes of one digit are too common as values to stand out among others than those of a scale.
LONG_CODE = 10


def decide(
    name: str, column: Unmarked, decimal: str, told: ColumnSpec | None = None, n_rows: int | None = None
) -> Column:
    """Decide the kind of a column of a table of `n_rows`, of which these may be a sample."""
    n_rows = len(column.cells) if n_rows is None else n_rows
    seen = [cell for cell in column.cells if cell is not None]
    if told is not None and told.kind not in USABLE:
        if told.kind == Kind.DATE and seen and are_dates(seen):
            return _dates(name, column, seen, told=True)
        article = {Kind.IDENTIFIER: "an ", Kind.EMPTY: "", Kind.TEXT: ""}.get(told.kind, "a ")
        return _unused(name, told.kind, f"specified as {article}{told.kind}")
    if not seen and not (told is not None and told.fixed):
        return _unused(name, Kind.EMPTY, "all values are missing")
    if told is not None:
        return _as_told(name, column, decimal, told)
    if not all(isinstance(cell, bool | np.bool_) for cell in seen) and not are_codes(seen):
        numbers = read_numbers(column.cells, decimal)
        if _few(numbers, column.cells, len(seen), words_only=True):
            return _number(name, column, numbers, n_rows)
        # 1st, 2nd, 3rd are not numbers with units but categories.
        few = numbers.bare < 0.5 * len(seen) and are_groups(len(set(map(level_key, seen))), len(seen))
        if len(seen) - len(numbers.odd) >= 0.5 * len(seen) and not few:
            return _spoilt(name, column, numbers, seen)
    return _text(name, column, seen, n_rows)


def _unused(name: str, kind: Kind, why: str) -> Column:
    return Column(name, kind, used=False, why=why)


def _few(numbers: Numbers, cells: Cells, seen: int, *, words_only: bool) -> bool:
    """Whether only a few cells are not numbers; a bound such as ``<0.1`` is information, not a missing value."""
    odd = {str(cells[row]) for row in numbers.odd}
    words = all(word.replace(" ", "").isalpha() for word in odd) or not words_only
    return len(numbers.odd) <= FEW_SHARE * seen and len(odd) <= FEW_WORDS and words


def _spoilt(name: str, column: Unmarked, numbers: Numbers, seen: list[Any]) -> Column:
    """A column of which at least half, but not all, are numbers: dates, or text, with the first such row reported."""
    if are_dates(seen):
        return _dates(name, column, seen)
    row = numbers.odd[0]
    if len(numbers.units) > 1 and not numbers.bare:
        units = f"numbers in different units ({some_of(numbers.units, 4)})"
        return _unused(name, Kind.TEXT, f"{units}, such as {column.cells[row]!r} in row {row + 1}: convert them to one")
    why = f"mostly numbers, but row {row + 1} contains {column.cells[row]!r}{_more(numbers)}"
    return _unused(name, Kind.TEXT, f"{why}: correct it, leave it empty, or list it in missing (--missing)")


def _more(numbers: Numbers) -> str:
    return f" (and {counted(len(numbers.odd) - 1, 'more cell')})" if len(numbers.odd) > 1 else ""


def _number(name: str, column: Unmarked, numbers: Numbers, n_rows: int, *, told: bool = False) -> Column:
    values = numbers.values
    seen = values[~np.isnan(values)]
    if not len(seen):
        return _unused(name, Kind.EMPTY, "all values are missing")
    least, largest = float(seen.min()), float(seen.max())
    if least == largest:
        return _unused(name, Kind.CONSTANT, f"constant: every observed value is {least:g}")
    words = Counter(str(column.cells[row]) for row in numbers.odd)
    before, after = numbers.affix
    half = f"; {numbers.half.words}" if numbers.half is not None else ""
    why = f"{before}{least:g}{after} to {before}{largest:g}{after}{half}{_missing(column.markers + words)}"
    notes = (*_words_notes(words, numbers.odd), *_suspicious(name, seen))
    made = Column(
        name, Kind.NUMBER, values, why=why, affix=numbers.affix, half=numbers.half, missing=tuple(words), notes=notes
    )
    if not told and numbers.affix == ("", "") and numbers.half is None:
        dates = numbered_dates(name, values)
        if dates is not None:
            return _used_dates(name, *dates, column.markers)
        role = number_role(name, values, n_rows)
        if role is not None and role[0] == "identifier":
            return _unused(name, Kind.IDENTIFIER, role[1])
        made = _as_levels(made, Kind.CATEGORY, role[1]) if role is not None else _on_scale(made, seen, n_rows)
    return made


def _on_scale(column: Column, seen: Floats, n_rows: int) -> Column:
    """A column of numbers as a flag if it has two values, and as ordered if it has a few whole ones from -10 to 10."""
    values = np.unique(seen)
    if len(values) == 2 and len(seen) >= 4:
        return _as_levels(column, Kind.FLAG)
    whole_table = n_rows * len(seen) / len(column.values)
    whole = bool(np.all(values == np.rint(values))) and np.abs(values).max() <= FURTHEST_ANSWER
    if whole and 3 <= len(values) <= min(MOST_ANSWERS, whole_table // ROWS_EACH):
        return _as_levels(column, Kind.ORDERED, f"{counted(len(values), 'whole value')}: ordered levels")
    return column


def _as_levels(column: Column, kind: Kind, how: str = "") -> Column:
    values, codes = np.unique(column.values, return_inverse=True, equal_nan=True)
    known = values[~np.isnan(values)].tolist()
    levels = tuple(int(value) if value.is_integer() else value for value in known)
    why = f"{column.why}; {how}" if how else column.why
    if kind != Kind.ORDERED:  # instead of the range, the values
        why = f"{counted(len(levels), 'value')}: {some_of(levels, 6)}" + "".join(why.partition("; ")[1:])
    positions = np.where(np.isnan(column.values), np.nan, codes)
    return replace(column, kind=kind, values=positions, categories=levels, why=why)


def _dates(name: str, column: Unmarked, seen: list[Any], *, told: bool = False) -> Column:
    """A column of dates or times; the few cells that are none are missing."""
    day_first, unclear = day_comes_first(seen)
    seconds = seconds_of(list(column.cells), day_first=day_first)
    odd = Counter(str(column.cells[row]) for row in np.flatnonzero(np.isnan(seconds)) if column.cells[row] is not None)
    made = _used_dates(name, seconds, "", column.markers + odd, day_first=day_first, told=told)
    notes = [f"treated as missing, as they are not dates: {_listed(odd)}"] if odd else []
    if unclear and made.used:
        order = "day" if day_first else "month"
        notes.append(f"{unclear!r} was read with the {order} first; write dates as 2024-01-31")
    return replace(made, notes=tuple(notes))


def _used_dates(
    name: str, seconds: Floats, written: str, markers: Counter[str], *, day_first: bool = False, told: bool = False
) -> Column:
    """Dates, which are used unless all are equal or they count the rows; see ``fusewise.tables._dates``."""
    seen = seconds[~np.isnan(seconds)]
    if not len(seen):
        return _unused(name, Kind.EMPTY, "all values are missing")
    if seen.min() == seen.max():
        return _unused(name, Kind.CONSTANT, f"constant: every date is {shown(seen).partition(' ')[0]}")
    how = f" (written {written})" if written else ""
    if not told and len(seen) == len(seconds) >= LEAST_COUNTED and are_in_order(seconds):
        return _unused(name, Kind.DATE, f"dates in order{how}, one for each row: they count the rows")
    why = f"{shown(seen)}{how}{_missing(markers)}"
    return Column(name, Kind.DATE, seconds, why=why, day_first=day_first)


def _listed(words: Counter[str]) -> str:
    return some_of([f"{word!r} ({count})" for word, count in words.most_common()])


def _words_notes(words: Counter[str], rows: list[int]) -> list[str]:
    cells = counted(words.total(), "cell is not a number and was", "cells are not numbers and were")
    return [f"{cells} treated as missing: {_listed(words)}; the first is in row {rows[0] + 1}"] if rows else []


def _missing(markers: Counter[str]) -> str:
    """Format the number of missing values and their markers; empty if there are none."""
    words = [repr(word) if word else "empty" for word, _ in markers.most_common()]
    return f"; {markers.total():,} missing ({some_of(words, 4)})" if words else ""


def _suspicious(name: str, seen: Floats) -> list[str]:
    """Notes on numbers that may stand for a missing value; they are kept.

    Suspicious are numbers that often do (99, -1), and the least and the largest of all.
    """
    values, counts = np.unique(seen, return_counts=True)
    present = set(values.tolist())
    codes = present & CODES
    for value in sorted(present & OTHER_CODES):  # 8 beside 9, but not on a scale to 9
        below = any(code / 2 < value < code for code in codes)
        codes |= {value} if below and (value - 1 in codes or value - 1 not in present) else set()
    notes = []
    for value in sorted(codes | {float(values[0]), float(values[-1])}):
        apart = ~np.isin(values, [*codes, value])
        others, count = values[apart], int(counts[values == value][0])
        how = _how_odd(value, count, others, counts[apart], known=value in codes) if len(others) >= 2 else None
        if how:
            notes.append(
                f"{value:g} ({counted(count, 'cell')}) is {how} ({others[0]:g} to {others[-1]:g}) and was kept; if it "
                f"means a missing value, say so with missing={{{name!r}: {value:g}}} (--missing '{name}={value:g}')"
            )
    return notes


def _how_odd(value: float, count: int, others: Floats, counts: Any, *, known: bool) -> str | None:
    """How a number stands out from all others; a number that is not `known` as a code must do so in several cells.

    It is further from them than their range, or negative if five or more of them are not; alone beyond a gap in a scale
    (9 after 1, 2, ..., 6); or in far more cells than its neighbours.
    """
    low, high = others[0], others[-1]
    away, width, steps = max(low - value, value - high), high - low, np.diff(others)
    if away <= 0:
        return None
    far = away > max(width, 1) and not 0 < value < LONG_CODE
    scale = low in (0, 1) and len(others) < MOST_ANSWERS and bool((steps == 1).all())
    if not known:
        often = PILE <= count <= MOST_MISSING * (counts.sum() + count)
        end = often and len(others) >= PILE and away > width
        gap = scale and count >= PILE and away >= 3 and len(others) >= 3
        if not (end or gap):
            return None
    if far or (value < 0 <= low and len(others) >= 5):
        return "far outside the other values"
    common = max(count, counts[-1]) >= PILE  # not the tail of counts
    if scale and common and away > 1 and counts.sum() >= ROWS_EACH * len(others):
        return "beyond a gap in the scale of the other values"
    near = counts[-5:] if value > high else counts[:5]
    piled = count >= PILE and count >= TIMES_NEIGHBOURS * near.mean() and not value < low < 0
    apart = away > 2 * np.median(steps) and away > LEAST_GAP * width
    return "in many cells, apart from the other values" if piled and apart else None


def _text(name: str, column: Unmarked, seen: list[Any], n_rows: int) -> Column:
    if all(isinstance(cell, str | bool | np.bool_) for cell in seen) and {str(cell).lower() for cell in seen} in FLAGS:
        return _levels(name, Kind.FLAG, column)
    if are_dates(seen):
        return _dates(name, column, seen)
    if not all(isinstance(cell, str | int | float | np.generic) for cell in seen):
        return _unused(name, Kind.TEXT, f"values of type {type(seen[0]).__name__}, not numbers or text")
    distinct = len(set(map(level_key, seen)))
    if distinct == 1:
        return _unused(name, Kind.CONSTANT, f"constant: every observed value is {seen[0]!r}")
    if distinct == len(seen):
        return _unused(name, Kind.IDENTIFIER, "identifier: text that differs in every row")
    if are_groups(distinct, round(n_rows * len(seen) / len(column.cells))):
        two = distinct == len({level_key(cell, Kind.FLAG) for cell in seen}) == 2
        return _levels(name, Kind.FLAG if two else Kind.CATEGORY, column)
    if are_codes(seen):
        return _unused(name, Kind.IDENTIFIER, "codes: digits with leading zeros, not amounts")
    many = f"text with {distinct:,} distinct values in {len(seen):,} rows: too many for categories"
    return _unused(name, Kind.TEXT, many)


def level_key(cell: Any, kind: str = Kind.CATEGORY) -> str:
    """The text that identifies a category (1 for 1.0); case is ignored for flags."""
    text = str(int(cell)) if isinstance(cell, float | np.floating) and float(cell).is_integer() else str(cell)
    return text.lower() if kind == Kind.FLAG else text


def _levels(name: str, kind: Kind, column: Unmarked, levels: tuple[Any, ...] = ()) -> Column:
    """Encode the levels: those given, or those that occur in alphabetical (for numbers: numerical) order."""
    spelling: dict[str, Any] = {level_key(level, kind): level for level in levels}
    if not levels:
        found = {level_key(cell, kind): cell for cell in reversed(column.cells) if cell is not None}
        spelling = {key: found[key] for key in sorted(found, key=_order)}
    order = {key: code for code, key in enumerate(spelling)}
    codes = [np.nan if cell is None else order.get(level_key(cell, kind), np.nan) for cell in column.cells]
    sign = " < " if kind == Kind.ORDERED else ", "
    more = f"{sign}..." if len(spelling) > 6 else ""
    why = f"{counted(len(spelling), 'value')}: {sign.join(map(str, [*spelling.values()][:6]))}{more}"
    why += _missing(column.markers)
    return Column(name, kind, np.array(codes, dtype=float), tuple(spelling.values()), why=why)


def _order(key: str) -> tuple[float, str]:
    try:
        return float(key), key
    except ValueError:
        return math.inf, key


def _as_told(name: str, column: Unmarked, decimal: str, told: ColumnSpec) -> Column:
    if told.kind == Kind.NUMBER:
        return _told_number(name, column, decimal, told)
    if are_numbers(told.levels):  # "3.0" is the level 3
        values = read_numbers(column.cells, decimal).values.tolist()
        cells = [c if math.isnan(v) else v for c, v in zip(column.cells, values, strict=True)]
        column = replace(column, cells=as_cells(cells))
    levels = _with_further(told.levels, column.cells) if told.is_open else told.levels
    if levels and all(isinstance(level, bool) for level in levels):  # of a frame: a file may say yes and no
        seen = {str(cell).lower() for cell in column.cells}
        levels = tuple(sorted(next((pair for pair in FLAGS if pair & seen), FLAGS[0])))
    made = _levels(name, told.kind, column, levels)
    unknown = [row for row, cell in enumerate(column.cells) if cell is not None and math.isnan(made.values[row])]
    if unknown and not told.fixed:
        given = (" < " if told.kind == Kind.ORDERED else ", ").join(map(str, told.levels))
        what = f"column {name!r}, row {unknown[0] + 1}: {column.cells[unknown[0]]!r} is not one of the given values"
        raise InputError(f"{what} ({given}); add it to them, or list it in missing (--missing)")
    if told.fixed:
        words = some_of([repr(word) for word in sorted({str(column.cells[row]) for row in unknown})], 4)
        note = f"values unknown to the model ({words}) are treated as missing"
        return replace(made, notes=(note,) * bool(unknown))
    if told.kind == Kind.FLAG and len(made.categories) > 2:
        has = f"this column has {len(made.categories)}"
        raise InputError(f"column {name!r}: a flag has two values, but {has}; use 'category'")
    if np.nanmin(made.values) == np.nanmax(made.values):
        only = made.categories[int(np.nanmin(made.values))]
        return _unused(name, Kind.CONSTANT, f"constant: every observed value is {only!r}")
    return made


def _with_further(levels: tuple[Any, ...], cells: Cells) -> tuple[Any, ...]:
    """The levels, and those that only the cells have: numbers in their order, words after the others."""
    known = {level_key(level) for level in levels}
    if are_numbers(levels):
        new = {cell for cell in cells if isinstance(cell, float) and level_key(cell) not in known}
        return tuple(sorted((*levels, *(int(value) if value.is_integer() else value for value in new))))
    return (*levels, *sorted({level_key(cell) for cell in cells if cell is not None} - known))


def _told_number(name: str, column: Unmarked, decimal: str, told: ColumnSpec) -> Column:
    cells = column.cells
    numbers = read_numbers(cells, decimal, told=True)
    seen = sum(cell is not None for cell in cells)
    allowed = told.on_error == "missing" or (told.on_error == "few" and _few(numbers, cells, seen, words_only=False))
    if numbers.odd and not allowed:
        row, missing = numbers.odd[0], "list it in missing (--missing)"
        remedy = "use --on-error missing (in a fit: --missing) to treat it as missing" if told.fixed else missing
        what = f"{cells[row]!r} is not a number{_more(numbers)}"
        raise InputError(f"column {name!r}, row {row + 1}: {what}; correct it, or {remedy}")
    if not told.fixed:
        return _number(name, column, numbers, len(cells), told=True)
    values, rows = numbers.values, numbers.odd
    if told.on_error == "missing":
        beyond = np.flatnonzero(np.abs(values) > LARGEST)
        values[beyond] = np.nan
        rows = sorted([*rows, *beyond.tolist()])
    notes = _words_notes(Counter(str(cells[row]) for row in rows), rows)
    return Column(name, Kind.NUMBER, values, affix=numbers.affix, half=numbers.half, notes=tuple(notes))


def refuse_too_large(column: Column) -> None:
    """Raise ``InputError`` if a number is infinite or too large to be a measurement."""
    beyond = np.flatnonzero(np.abs(column.values) > LARGEST)
    if len(beyond):
        first = column.values[beyond[0]]
        what = f"{first:g} is {'infinite' if math.isinf(first) else 'too large'}"
        more = f" (and {len(beyond) - 1} more)" if len(beyond) > 1 else ""
        raise InputError(f"column {column.name!r}, row {beyond[0] + 1}{more}: {what}; leave unknown values empty")
