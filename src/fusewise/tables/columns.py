"""The kind and role of each column: numbers, booleans, categories, known classes, row names, or not used (and why)."""

from __future__ import annotations

import datetime
import difflib
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fusewise.kernels.words import some_of
from fusewise.tables.errors import InputError
from fusewise.tables.files import Cells, Table
from fusewise.tables.text import Dialect

Kind = Literal["number", "boolean", "category"]

#: Text columns with more categories are not used: they rarely separate clusters, and would dominate the features.
MOST_CATEGORIES = 20

#: Larger numbers are refused: they usually encode "unknown", and their squares would overflow.
LARGEST = 1e150

ROW_NAMES = re.compile(
    r"|index|unnamed: 0|rows?|samples?|subject|patient|participant|respondent"
    r"|(row|sample|subject|patient|participant|respondent|record|case)?[ _.-]?(id|name)s?"
)
LABELS = re.compile(r"labels?|class(es)?|target|species|clusters?|cultivar|diagnosis|truth|ground[ _-]?truth")
FRACTION = re.compile(r"[-+]?\d*[.,]\d*[1-9]\d*")
DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?")
BOOLEANS = ({"false", "true"}, {"no", "yes"}, {"n", "y"}, {"f", "t"})


@dataclass(frozen=True, eq=False)
class Column:
    """A column that can be used for clustering.

    Attributes
    ----------
    values : numbers, or codes of the categories; NaN if missing.
    categories : the categories as the user spelled them; empty for numbers.
    """

    name: str
    kind: Kind
    values: npt.NDArray[np.float64]
    categories: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Roles:
    """The roles of the columns of a table.

    Attributes
    ----------
    used : columns used for clustering.
    unused : name of each column that is not used -> the reason.
    names : name of each row, or its number from 1.
    names_column, labels_column : columns with the row names and the known classes; None if there is none.
    labels_asked : whether the user specified the column of classes.
    """

    used: list[Column]
    unused: dict[str, str]
    names: Cells
    names_column: str | None = None
    labels_column: str | None = None
    labels_asked: bool = field(default=False)


def sort_columns(
    table: Table, *, drop: Iterable[str] = (), names: str | None = None, labels: str | None = None
) -> Roles:
    """Decide the kind and role of each column; raise ``InputError`` if none can be used."""
    dropped = [find_column(table, name, "--drop") for name in drop]
    left = [name for name in table.columns if name not in dropped]
    names_column = _names_column(table, left, names)
    labels_column = _labels_column(table, [name for name in left if name != names_column], labels)
    unused = dict.fromkeys(dropped, "dropped with --drop")
    used = []
    for name in left:
        if name in (names_column, labels_column):
            continue
        column = understand(name, table.columns[name], table.dialect)
        if isinstance(column, str):
            unused[name] = column
        else:
            used.append(column)
    if not used:
        _refuse_unusable(table, unused)
    return Roles(used, unused, row_names(table, names_column), names_column, labels_column, labels is not None)


def find_column(table: Table, name: str, option: str) -> str:
    """Check that a column exists; the error lists the existing columns and suggests the closest name."""
    if name in table.columns:
        return name
    close = difflib.get_close_matches(name, table.columns, n=1)
    meant = f" (did you mean {close[0]!r}?)" if close else ""
    raise InputError(f"{option}: the table has no column {name!r}{meant}; it has {some_of(list(table.columns), 12)}")


def column_or_none(table: Table, asked: str, option: str) -> str | None:
    """Check that a column exists; None for the word "none", unless a column has that name."""
    return None if asked.lower() == "none" and asked not in table.columns else find_column(table, asked, option)


def understand(name: str, cells: Cells, dialect: Dialect) -> Column | str:
    """The content of a column, or the reason why it cannot be used."""
    seen = [cell for cell in cells if cell is not None]
    if not seen:
        return "all values are missing"
    values = as_numbers(cells, dialect)
    if values is not None and not all(isinstance(cell, bool | np.bool_) for cell in seen):
        return _numbers(name, values)
    if _is_boolean(seen):
        return _categories(name, "boolean", cells)
    if _share(seen, _is_date) > 0.8:
        return "dates: convert them to numbers (such as days) to use them"
    if not all(isinstance(cell, str | int | float) for cell in seen):
        return f"values of type {type(seen[0]).__name__}, not numbers or text"
    distinct = len(set(map(str, seen)))
    if distinct == 1:
        return f"constant: every observed value is {seen[0]!r}"
    if _share(seen, lambda cell: _is_number(cell, dialect)) >= 0.5:
        row, odd = next((i, c) for i, c in enumerate(cells) if c is not None and not _is_number(c, dialect))
        return f"mostly numbers, but row {row + 1} contains {odd!r}: correct it or leave it empty"
    if distinct == len(seen):
        return "identifier: text that differs in every row"
    if distinct > min(MOST_CATEGORIES, len(seen) // 2):
        return f"text with {distinct} distinct values in {len(seen)} rows: too many for categories"
    return _categories(name, "category", cells)


def as_numbers(cells: Cells, dialect: Dialect) -> npt.NDArray[np.float64] | None:
    """Cells as floats, NaN if missing; None if a cell is not a number."""
    try:
        return cells.astype(np.float64)
    except (TypeError, ValueError):
        if dialect.decimal == ".":
            return None
    try:
        return np.array([np.nan if cell is None else _to_float(cell, dialect) for cell in cells])
    except (TypeError, ValueError):
        return None


def _to_float(cell: Any, dialect: Dialect) -> float:
    if isinstance(cell, str) and dialect.decimal == "," and "." not in cell:
        cell = cell.replace(",", ".")
    return float(cell)


def _numbers(name: str, values: npt.NDArray[np.float64]) -> Column | str:
    refuse_too_large(name, values)
    seen = values[~np.isnan(values)]
    if not len(seen):
        return "all values are missing"
    least, largest = float(seen.min()), float(seen.max())
    if least == largest:
        return f"constant: every observed value is {least:g}"
    if _is_id(name, seen):
        return "identifier: integers that differ in every row"
    return Column(name, "number", values)


def refuse_too_large(name: str, values: npt.NDArray[np.float64]) -> None:
    """Raise ``InputError`` if a number is infinite or too large to be a measurement."""
    beyond = np.flatnonzero(np.abs(values) > LARGEST)
    if len(beyond):
        first = values[beyond[0]]
        what = f"{first:g} is {'infinite' if math.isinf(first) else 'too large'}"
        more = f" (and {len(beyond) - 1} more)" if len(beyond) > 1 else ""
        raise InputError(f"column {name!r}, row {beyond[0] + 1}{more}: {what}; leave unknown values empty")


def _is_id(name: str, seen: npt.NDArray[np.float64]) -> bool:
    called = ROW_NAMES.fullmatch(name.lower()) is not None
    return called and len(np.unique(seen)) == len(seen) and bool((seen == np.floor(seen)).all())


def _is_number(cell: Any, dialect: Dialect) -> bool:
    try:
        _to_float(cell, dialect)
    except (TypeError, ValueError):
        return False
    return True


def _is_boolean(seen: list[Any]) -> bool:
    words = {str(cell).lower() for cell in seen if isinstance(cell, str | bool | np.bool_)}
    return all(isinstance(cell, str | bool | np.bool_) for cell in seen) and words in BOOLEANS


def _is_date(cell: Any) -> bool:
    if isinstance(cell, str):
        return DATE.fullmatch(cell) is not None
    return isinstance(cell, datetime.date | datetime.time | datetime.timedelta | np.datetime64 | np.timedelta64)


def _share(cells: list[Any], test: Callable[[Any], bool]) -> float:
    return sum(map(test, cells)) / len(cells)


def category_key(kind: str, cell: Any) -> str:
    """The text that identifies a category; case is ignored for booleans."""
    return str(cell).lower() if kind == "boolean" else str(cell)


def _categories(name: str, kind: Kind, cells: Cells) -> Column:
    """Encode categories by their alphabetical order (for booleans: no, then yes)."""
    spelling: dict[str, Any] = {}
    for cell in cells:
        if cell is not None:
            spelling.setdefault(category_key(kind, cell), cell)
    order = {word: code for code, word in enumerate(sorted(spelling))}
    codes = np.array([np.nan if cell is None else order[category_key(kind, cell)] for cell in cells])
    return Column(name, kind, codes, tuple(spelling[word] for word in order))


def _names_column(table: Table, left: list[str], asked: str | None) -> str | None:
    if asked is not None:
        return column_or_none(table, asked, "--names")
    for name in left:
        if not ROW_NAMES.fullmatch(name.lower()):
            continue
        cells = table.columns[name]
        # A column with fractions holds measurements, whatever its name.
        named = not any(cell is None or FRACTION.fullmatch(str(cell)) for cell in cells)
        if named and len(set(map(str, cells))) == len(cells):
            return name
    # A first column of text that differs in every row names the rows, whatever its name.
    return left[0] if left and _is_text_id(table.columns[left[0]]) else None


def _is_text_id(cells: Cells) -> bool:
    words = {cell for cell in cells if isinstance(cell, str) and not _is_number(cell, Dialect(decimal=","))}
    return len(words) == len(cells)


def _labels_column(table: Table, left: list[str], asked: str | None) -> str | None:
    if asked is not None:
        return column_or_none(table, asked, "--labels")
    for name in filter(lambda name: LABELS.fullmatch(name.lower()), left):
        distinct = len({*map(str, table.columns[name]), "None"}) - 1
        if 2 <= distinct <= table.n_rows / 2:
            return name
    return None


def row_names(table: Table, column: str | None) -> Cells:
    """Names of the rows from a column, or their numbers from 1 (without a column, or if the name is missing)."""
    numbers = np.arange(1, table.n_rows + 1).astype(object)
    cells = None if column is None else table.columns[column]
    return numbers if cells is None else np.where([cell is None for cell in cells], numbers, cells)


def _refuse_unusable(table: Table, unused: dict[str, str]) -> None:
    if all(cell is None for cells in table.columns.values() for cell in cells):
        raise InputError(f"all values of {str(table.path)!r} are missing")
    reasons = [f"\n  {name}: {reason}" for name, reason in list(unused.items())[:12]]
    raise InputError(f"no column of {str(table.path)!r} can be used for clustering:" + "".join(reasons))
