"""The cells of a table as in its file, before the kinds of its columns are decided."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.support import InputError, some_of

Cells = npt.NDArray[np.object_]
Numbered = tuple[int, list[Any]]  # the number of a line or row, and its cells

#: Rows among which the header is looked for.
MOST_LOOKED_AT = 100

YEAR = re.compile(r"(18|19|20)\d\d")

#: The formats that can be read, for messages.
READABLE = "a table: CSV, TSV, Parquet, Feather/Arrow, Excel, Stata, SPSS, SAS, JSON lines or SQLite"


@dataclass(frozen=True)
class Dialect:
    """Field separator and decimal separator of a text file."""

    separator: str = ","
    decimal: str = "."


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells of each column as in the file, None if it has no value, and notes on how it was read."""

    written: dict[str, Cells]
    separator: str | None = None  # of fields in a text file
    levels: dict[str, list[Any]] = field(default_factory=dict)  # of columns that the file declares as ordered
    categories: tuple[str, ...] = ()  # columns of numbers that it declares as categories
    notes: list[str] = field(default_factory=list)
    sample_of: int | None = None  # number of rows of which these are a sample; None: all

    @property
    def n_rows(self) -> int:
        """Number of rows below the header."""
        return len(next(iter(self.written.values()), ()))


def as_cells(values: Sequence[Any]) -> Cells:
    """A one-dimensional array of objects, even if the values are sequences."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def by_column(header: Sequence[Any], rows: Sequence[Sequence[Any]]) -> tuple[dict[str, Cells], list[str]]:
    """Convert rows to named columns, with notes on names that occur twice: the later one is numbered, a (2)."""
    written: dict[str, Cells] = {}
    notes = []
    columns = zip(*rows, strict=True) if rows else ((),) * len(header)
    for k, (given, cells) in enumerate(zip(header, columns, strict=True)):
        name = "" if given is None else str(given).strip()
        new, number = name, 2
        while new in written or (new == "" and k):  # the first may be that of the row names
            new, number = (f"{name} ({number})", number + 1) if name else (f"column {k + 1}", number)
        if name and name in written:
            notes.append(f"column {k + 1} is named {name!r} like another: it is called {new!r} here")
        written[new] = as_cells(cells)
    return written, notes


def without_remarks(numbered: Sequence[Numbered], skip_rows: int, what: str) -> tuple[list[Numbered], list[str]]:
    """The rows of a table with the numbers of their lines, without titles above it and remarks below; and notes."""
    rows = [row for _, row in numbered]
    above = 0 if skip_rows else titles_above(rows)
    end = len(rows) - _remarks_below(numbered, len(rows[above]))
    notes = []
    for out, where in ((rows[:above], "above the header"), (rows[end:], "below the table")):
        texts = [" ".join(str(cell).strip() for cell in row if not _is_blank(cell)) for row in out]
        notes += [f"the {what} {where} were left out: {some_of(list(map(repr, texts)), 3)}"] if texts else []
    return list(numbered[above:end]), notes


def titles_above(rows: Sequence[Sequence[Any]]) -> int:
    """Number of rows above the header, such as a title: those with fewer than 3/4 of the cells that most have.

    R's header has one name fewer than rows have cells, and numbers below it, as a title does not. A header in which
    names are missing is not taken for a title, either: a row of numbers is no header.
    """
    rows = rows[:MOST_LOOKED_AT]
    filled = [sum(not _is_blank(cell) for cell in row) for row in rows]
    usual = Counter(filled).most_common(1)[0][0] if filled else 0

    def is_header(k: int) -> bool:
        by_r = filled[k] == len(rows[k]) == usual - 1 and k + 1 < len(rows) and bool(_numbers_in(rows[k + 1]))
        return (filled[k] > 1 and 4 * filled[k] >= 3 * usual) or by_r

    above = next((k for k in range(len(rows)) if is_header(k)), 0)
    numbers = _numbers_in(rows[above]) if above else []
    data = any("." in number or "," in number for number in numbers) or (numbers and max(filled[:above]) > 1)
    return 0 if data or usual < 2 or above == len(rows) - 1 else above


def _remarks_below(numbered: Sequence[Numbered], width: int) -> int:
    """Number of the last rows that are remarks, such as a source: below a blank row, few cells, and no numbers."""
    found = 0
    for k in range(len(numbered) - 1, 0, -1):
        line, row = numbered[k]
        filled = [cell for cell in row if not _is_blank(cell)]
        if 2 * len(filled) >= width or _numbers_in(filled):
            break
        if line > numbered[k - 1][0] + 1:
            found = len(numbered) - k
    return found


def _is_blank(cell: Any) -> bool:
    return cell is None or str(cell).strip() == ""


def _numbers_in(row: Sequence[Any]) -> list[str]:
    """The numbers of a row other than years, which may be names of columns."""
    cells = (str(cell).strip() for cell in row)
    return [cell for cell in cells if re.fullmatch(r"[-+]?\d+([.,]\d+)?", cell) and not YEAR.fullmatch(cell)]


def refuse_duplicates(source: str, names: list[str]) -> None:
    """Raise ``InputError`` if two columns have the same name."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        where = ", ".join(str(k + 1) for k, name in enumerate(names) if name == twice[0])
        shown = some_of(list(map(repr, twice)))
        raise InputError(f"{source!r} has duplicate column names: {shown} ({twice[0]!r}: columns {where}); rename them")


def find_columns(names: Mapping[str, object], asked: str, option: str) -> list[str]:
    """The columns of a name, of a pattern (``q_*``), or of several separated by commas."""
    found: dict[str, None] = {}
    for part in [asked] if asked in names else map(str.strip, asked.split(",")):
        like = [name for name in names if name == part or fnmatchcase(name, part)]
        found |= dict.fromkeys(like or [find_column(names, part, option)])
    return list(found)


def find_column(names: Mapping[str, object], name: str, option: str) -> str:
    """Check that a column exists; the error lists the existing columns and suggests the closest name."""
    if name in names:
        return name
    close = difflib.get_close_matches(name, names, n=1)
    meant = f" (did you mean {close[0]!r}?)" if close else ""
    raise InputError(f"{option}: the table has no column {name!r}{meant}; it has {some_of([*names], 12)}")


def joined(parts: Iterable[tuple[str, Grid]]) -> Grid:
    """The rows of several parts, each with its name, below each other; raise ``InputError`` if columns differ."""
    named = list(parts)
    name, first = named[0]
    for other, grid in named[1:]:
        refuse_other_columns(other, list(grid.written), name, list(first.written))
        if grid.levels != first.levels:
            raise InputError(f"the ordered columns of {other!r} have other levels than those of {name!r}")
    written = {column: np.concatenate([grid.written[column] for _, grid in named]) for column in first.written}
    notes = list(dict.fromkeys(note for _, grid in named for note in grid.notes))
    n_rows = sum(grid.n_rows if grid.sample_of is None else grid.sample_of for _, grid in named)
    return replace(first, written=written, notes=notes, sample_of=n_rows)


def refuse_other_columns(name: str, columns: list[str], first: str, expected: list[str]) -> None:
    """Raise ``InputError`` if a part has other columns than the first; their order may differ."""
    missing, more = (some_of([repr(c) for c in a if c not in b]) for a, b in ((expected, columns), (columns, expected)))
    if missing or more:
        what = " and ".join([f"has no column {missing}"] * bool(missing) + [f"also has {more}"] * bool(more))
        raise InputError(f"the parts have different columns: compared with {first!r}, {name!r} {what}")
