"""``read_table``: reads a file as a table with typed columns, for Python and the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Floats
from fusewise.observations import is_frame
from fusewise.support import InputError, counted, some_of
from fusewise.tables._binary import grid_of_frame, read_binary, reader_of
from fusewise.tables._cells import HalfKnown, Unmarked, decide_decimal, own_levels, unmark
from fusewise.tables._columns import Column, ColumnSpec, Kind, are_numbers, decide, level_key, refuse_too_large
from fusewise.tables._dates import FEATURE, MONTHS, feature, feature_names
from fusewise.tables._grid import Cells, Dialect, Grid, find_columns, joined
from fusewise.tables._recognition import labels_column, names_column, row_names
from fusewise.tables._sources import STANDARD_INPUT, open_source, parts_of
from fusewise.tables._text import read_text

#: What can be chosen in files of a format.
CHOICES = {
    "text": ("skip_rows (--skip-rows)",),
    "Excel": ("sheet (--sheet)", "FILE::PART", "skip_rows (--skip-rows)"),
    "SQLite": ("FILE::PART",),
}


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a table; see ``read_table``. Columns may be patterns, or several separated by commas."""

    sheet: str | int | None = None
    sep: str | None = None
    decimal: str | None = None
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)  # column -> additional markers in it
    kinds: Mapping[str, ColumnSpec] = field(default_factory=dict)
    ignore: Sequence[str] = ()
    only: Sequence[str] = ()  # columns to use; empty: all
    # Columns with the row names and the known classes; "none" or False: there is none; None: detected.
    names: str | Literal[False] | None = None
    labels: str | Literal[False] | None = None
    skip_rows: int = 0
    comment: str | None = None
    below: Mapping[str, float | None] = field(default_factory=dict)  # column -> limit of its missing entries


def as_spec(name: str, kind: str | Sequence[Any]) -> ColumnSpec:
    """Convert the user's description of a column: a kind, or the levels of an ordered column."""
    if not isinstance(kind, str):
        levels = tuple(kind)
        if len({level_key(level) for level in levels}) < max(2, len(levels)):
            raise InputError(f"kinds, column {name!r}: an ordered column needs two or more different levels")
        return ColumnSpec(Kind.ORDERED, levels)
    if kind not in set(Kind):
        raise InputError(f"kinds, column {name!r}: {kind!r} is not a kind of column; use one of {', '.join(Kind)}")
    return ColumnSpec(Kind(kind))


def specs_of(
    grid: Grid, kinds: Mapping[str, ColumnSpec], missing: Mapping[str, tuple[str, ...]]
) -> dict[str, ColumnSpec]:
    """Specifications of columns by the user, or else by the file (ordered columns)."""
    told = {name: ColumnSpec(Kind.ORDERED, tuple(levels)) for name, levels in grid.levels.items()}
    told |= {name: ColumnSpec(Kind.CATEGORY) for name in grid.categories}
    for asked, spec in kinds.items():
        for name in find_columns(grid.written, asked, "kinds or --number, --category, --ordered"):
            if spec.kind != Kind.ORDERED or spec.levels:
                told[name] = spec
            elif name not in grid.levels:
                told[name] = ColumnSpec(Kind.ORDERED, _numeric_levels(name, grid.written[name], missing[name]))
    return told


def _numeric_levels(name: str, written: Cells, missing: tuple[str, ...]) -> tuple[Any, ...]:
    """The levels of an ordered column, which must be numbers if they were not given."""
    levels = {level_key(cell) for cell in unmark(written, missing).cells if cell is not None}
    try:
        return tuple(sorted(levels, key=float))
    except ValueError:
        what = f"column {name!r} is ordered, but the order of its values is not given ({some_of(sorted(levels), 6)})"
        raise InputError(f"{what}: list them, lowest first, in kinds (--ordered '{name}:low<mid<high')") from None


def left_out_of(grid: Grid, asked: ReadOptions) -> dict[str, str]:
    """Columns excluded by the user, and the reason to report."""
    left: dict[str, str] = {}
    for name in asked.ignore:
        made = FEATURE.fullmatch(name)  # one of the features of a column of dates
        known = made and made["column"] in grid.written
        found = [name] if known else find_columns(grid.written, name, "ignore or --drop")
        left |= dict.fromkeys(found, "excluded with ignore (--drop)")
    if asked.only:
        only = {column for name in asked.only for column in find_columns(grid.written, name, "--columns")}
        left |= {name: "not listed in --columns" for name in grid.written if name not in only | left.keys()}
    return left


@dataclass(frozen=True, eq=False)
class Reading:
    """A table as read from a file.

    Attributes
    ----------
    path : the file, as given.
    columns : the columns of the file and how they were read.
    cells : column names -> cells, None if missing; with those of the features of dates.
    written : the same cells exactly as in the file, to be written back unchanged.
    dialect : separators of the file; results are written the same way.
    notes : assumptions made while reading it, and suspicious values.
    names_column, labels_column : columns with the row names and the known classes; None if there is none.
    options : how the user asked for it to be read.
    """

    path: Path
    columns: tuple[Column, ...]
    cells: dict[str, Cells]
    written: dict[str, Cells]
    dialect: Dialect
    notes: list[str]
    names_column: str | None = None
    labels_column: str | None = None
    options: ReadOptions = field(default_factory=ReadOptions)

    @property
    def n_rows(self) -> int:
        """Number of rows below the header."""
        return len(next(iter(self.written.values())))

    @property
    def used(self) -> list[Column]:
        """The columns used for clustering; raise ``InputError`` with the reason for each column if there is none."""
        used = [column for column in self.columns if column.used and column.kind != Kind.DATE]
        if used:
            return used
        if all(cell is None for cells in self.cells.values() for cell in cells):
            raise InputError(f"all values of {str(self.path)!r} are missing")
        reasons = some_of([f"{column.name!r} ({column.why})" for column in self.columns], 6)
        raise InputError(f"no column of {str(self.path)!r} can be used for clustering: {reasons}")

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows, and of columns used for clustering."""
        return self.n_rows, len(self.used)

    @property
    def observed_fraction(self) -> float:
        """Fraction of observed values in the columns used."""
        return float(np.mean([~np.isnan(column.values) for column in self.used]))

    @property
    def blank_rows(self) -> npt.NDArray[np.intp]:
        """Rows of which nothing is known in the columns used."""
        blank = np.all([np.isnan(column.values) for column in self.used], axis=0)
        for bound in (self.lower, self.upper):
            if bound is not None:
                blank &= ~np.isfinite(bound).any(axis=1)
        return np.flatnonzero(blank)

    @property
    def numbers(self) -> Floats:
        """The columns used as floats: numbers, or positions of levels; NaN if missing."""
        return np.column_stack([column.values for column in self.used])

    @cached_property
    def half_known(self) -> dict[str, Floats]:
        """Those of ``error``, ``lower`` and ``upper`` that the file has."""
        used, known = self.used, {}
        if all(column.half is None for column in used):
            return {}
        halves = [column.half or HalfKnown.nothing(self.n_rows) for column in used]
        error, lower, upper = (
            np.column_stack([getattr(half, what) for half in halves]) for what in ("error", "lower", "upper")
        )
        upper[np.isnan(upper)] = np.inf
        if error.any():
            known["error"] = error
        if np.isfinite(lower).any() or np.isfinite(upper).any():
            known |= {"lower": lower, "upper": upper}
        return known

    @property
    def error(self) -> Floats | None:
        """Standard errors of the entries of ``frame``, 0 where there is none; None if the file has none."""
        return self.half_known.get("error")

    @property
    def lower(self) -> Floats | None:
        """Lower bounds of the entries of ``frame`` that are missing, -inf where there is none; None without bounds."""
        return self.half_known.get("lower")

    @property
    def upper(self) -> Floats | None:
        """Upper bounds, like ``lower``."""
        return self.half_known.get("upper")

    @property
    def names(self) -> Cells:
        """Name of each row, or its number from 1."""
        return row_names(self.cells, self.names_column, self.n_rows)

    @cached_property
    def frame(self) -> Any:
        """The columns that are used, as a pandas DataFrame.

        Numbers are float64, categories ``category``, ordered ones an ordered ``category``, flags ``boolean``; missing
        values are NaN or NA.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise InputError('a data frame needs pandas: pip install "fusewise[frames]"') from error

        def typed(column: Column) -> Any:
            if column.kind == Kind.NUMBER:
                return column.values
            if column.is_boolean:
                return pd.array(column.entries, dtype="boolean")
            codes = np.where(np.isnan(column.values), -1, column.values).astype(int)
            return pd.Categorical.from_codes(codes, pd.Index(column.categories), ordered=column.kind == Kind.ORDERED)

        columns = {column.name: typed(column) for column in self.columns if column.used and column.kind != Kind.DATE}
        return pd.DataFrame(columns, index=pd.RangeIndex(self.n_rows))


def read_table(
    path: str | Path | Any,
    *,
    sheet: str | int | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    missing: Iterable[Any] | Mapping[str, Any] = (),
    kinds: Mapping[str, str | Sequence[Any]] | None = None,
    ignore: Iterable[str] = (),
    skip_rows: int = 0,
    comment: str | None = None,
    below: Mapping[str, float | None] | None = None,
) -> Reading:
    r"""Read a table and decide the kind of each column.

    Parameters
    ----------
    path : CSV, TSV or text separated by semicolons, pipes or blanks, Parquet, Feather/Arrow, Excel, Stata, SPSS, SAS,
        JSON lines or SQLite (``file.db::table``), also compressed (gz, xz, bz2, zip, zst); ``-`` is standard input.
        A pattern (``part-*.csv``) or a folder of CSV or Parquet files with the same columns is one table. Of a pandas
        or polars frame the columns are decided in the same way.
    sheet : sheet of an Excel file: its name, or its number from 1. Required if several sheets are not empty.
    sep : field separator of a text file. Detected by default.
    decimal : decimal separator, "." or ",". Detected by default from all columns of the file together; if ``1.234`` may
        mean 1.234 or 1234 and nothing decides which, an error asks for it.
    missing : additional markers of missing values, such as ``[-99, "unknown"]``; or column -> its markers, such as
        ``{"age": 99, "q*": [8, 9]}``.
    kinds : column -> its kind ("number", "category", "flag", ...; see ``Kind``), or the list of levels of an ordered
        column, lowest first.
    ignore : columns that are not used. Here, in `missing` and in `kinds`, a column may be a pattern (``q_*``), or
        several names separated by commas.
    skip_rows : number of lines, or rows of a sheet, above the header; titles are mostly recognised.
    comment : lines that start with it are left out; ``#`` at the start of a file is recognised.
    below : column -> limit below which its missing values lie, or None for its smallest value; if it has words such as
        ``<LOD``, only these. Cells such as ``<0.05``, ``200+``, ``10-20`` and ``5.1 ± 0.2`` among numbers are read as
        what they say.

    Returns
    -------
    Reading
        ``frame`` has the columns that are used; ``columns`` describes every column of the file: its ``name``, its
        ``kind``, whether it is ``used``, and ``why``; ``notes`` lists assumptions and suspicious values. ``error``,
        ``lower`` and ``upper`` are arrays of the shape of ``frame`` with what is known of entries that are not known
        exactly, or None.

    Raises
    ------
    InputError
        If the file cannot be read; the message says what is wrong, where (row, column), and what to do.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "cars.csv")
    >>> _ = path.write_text("price;seats\n9.693,45;5\n44.598;5\n12.000;7\n?;7\n")
    >>> reading = read_table(path)
    >>> reading.frame["price"].tolist()
    [9693.45, 44598.0, 12000.0, nan]
    >>> reading.columns[0].why
    "9693.45 to 44598; 1 missing ('?')"
    """
    told = {name: as_spec(name, kind) for name, kind in (kinds or {}).items()}
    by_column = missing if isinstance(missing, Mapping) else {"*": missing}
    markers = {name: _several(given) for name, given in by_column.items()}
    asked = ReadOptions(
        sheet, sep, decimal, markers, told, tuple(ignore), skip_rows=skip_rows, comment=comment, below=below or {}
    )
    return read("the frame", asked, grid_of_frame("the frame", path)) if is_frame(path) else read(path, asked)


def _several(markers: Any) -> tuple[str, ...]:
    return (str(markers),) if isinstance(markers, str) or not isinstance(markers, Iterable) else (*map(str, markers),)


def read_grid(path: str | Path, asked: ReadOptions) -> Grid:
    """Read the cells of a file of any supported format, or of parts; raise ``InputError`` if there are no rows."""
    files: Sequence[str | Path] = parts_of(path) or [path]
    grids = [read_file(files[0], asked)]
    alike = replace(asked, sep=asked.sep or grids[0].separator)  # for all parts
    grids += [read_file(file, alike) for file in files[1:]]
    grid = joined(zip(map(str, files), grids, strict=True)) if len(files) > 1 else grids[0]
    if grid.n_rows == 0:
        header = some_of([repr(name) for name in grid.written])
        shown = "standard input" if str(path) == STANDARD_INPUT else str(path)
        raise InputError(f"{shown!r} has a header ({header}) but no rows")
    return grid


def read_file(path: str | Path, asked: ReadOptions) -> Grid:
    """Read the cells of one file, which may have no rows."""
    source = open_source(path)
    kind, read = reader_of(source) or ("text", None)
    given = {"sheet (--sheet)": asked.sheet, "FILE::PART": source.part, "skip_rows (--skip-rows)": asked.skip_rows}
    for option, value in given.items():
        if value not in (None, 0) and option not in CHOICES.get(kind, ()):
            raise InputError(f"{option} {value!r}: {source.name!r} is a {kind} file, which has none to choose")
    if read is None:
        return read_text(source, asked.sep, asked.skip_rows, asked.comment)
    return read_binary(source, kind, read, asked.sheet, asked.skip_rows)


def read(path: str | Path, asked: ReadOptions, grid: Grid | None = None) -> Reading:
    """Read a table with the given options; `grid` has its cells, if they were read before."""
    if asked.decimal not in (None, ".", ","):
        raise InputError(f"decimal (--decimal) must be '.' or ',', got {asked.decimal!r}")
    grid = read_grid(path, asked) if grid is None else grid
    table = _Decisions(grid, asked)
    cells = {name: draft.cells for name, draft in table.drafts.items()}
    free = [name for name in cells if name not in table.left and name not in table.told]
    names = names_column(cells, free, asked.names)
    classes = next((name for name, kind in table.told.items() if kind.kind == Kind.LABEL), asked.labels)
    labels = labels_column(cells, [name for name in free if name != names], classes)
    if names is not None:
        kind = Kind.DATE if table.decided[names].kind == Kind.DATE else Kind.IDENTIFIER
        table.leave_out(names, "row names", kind)
    if labels is not None:
        how = "" if classes else ", recognised by the name of the column"
        table.leave_out(labels, f"known classes{how}: used only to score the result", Kind.LABEL)
    table.bound(asked.below)
    columns, made = table.with_dates()
    for column in columns:
        if column.used and column.kind == Kind.NUMBER:
            refuse_too_large(column)
    notes = grid.notes + [f"column {name!r}: {note}" for name, made in table.decided.items() for note in made.notes]
    dialect = Dialect(grid.separator or ",", table.decimal)
    return Reading(Path(path), columns, cells | made, grid.written, dialect, notes, names, labels, asked)


class _Decisions:
    """A table while the kinds of its columns are decided."""

    def __init__(self, grid: Grid, asked: ReadOptions) -> None:
        self.grid = grid
        # The user's markers of missing values, how the user says that columns are read, and why some are left out.
        self.missing: dict[str, tuple[str, ...]] = dict.fromkeys(grid.written, ())
        for where, markers in asked.missing.items():
            for name in find_columns(grid.written, where, "missing (--missing)"):
                self.missing[name] += tuple(markers)
        self.told, self.left = specs_of(grid, asked.kinds, self.missing), left_out_of(grid, asked)
        self.drafts: dict[str, Unmarked] = {}
        voting = {}
        for name, written in grid.written.items():
            spec = self.told.get(name, ColumnSpec(Kind.NUMBER))  # what is undecided says how decimals are written, too
            markers = *self.missing[name], *spec.missing
            self.drafts[name] = unmark(written, markers, {level_key(level) for level in spec.levels})
            if name not in self.left and spec.kind == Kind.NUMBER:
                voting[name] = self.drafts[name].cells
        self.decimal = asked.decimal or decide_decimal(voting, grid.separator)
        self.decided = {name: self._decide(name, draft) for name, draft in self.drafts.items()}
        self._put_levels_back()
        for name, why in self.left.items():
            if name in self.decided:  # it may be a feature of dates
                self.leave_out(name, why)

    def _decide(self, name: str, draft: Unmarked) -> Column:
        told = None if name in self.left else self.told.get(name)
        column = decide(name, draft, self.decimal, told, self.grid.sample_of)
        return replace(column, missing=(*column.missing, *self.missing[name]))

    def leave_out(self, name: str, why: str, kind: Kind | None = None) -> None:
        column = self.decided[name]
        self.decided[name] = replace(column, used=False, why=why, kind=kind or column.kind, notes=())

    def bound(self, limits: Mapping[str, float | None]) -> None:
        """Bound the missing entries of some columns; note those that are below a limit that nobody says."""
        for asked, limit in limits.items():
            found = find_columns(self.grid.written, asked, "below (--below)")
            numbers = [name for name in found if self.decided[name].kind == Kind.NUMBER]
            if not numbers:
                kind = self.decided[found[0]].kind
                raise InputError(f"below (--below): column {found[0]!r} is read as {kind}; only numbers have a limit")
            self.decided |= {name: self.decided[name].below(limit) for name in numbers}
        for name, column in self.decided.items():
            unknown = 0 if column.half is None else int(np.isnan(column.half.upper).sum())
            if column.used and unknown:
                note = (
                    f"{counted(unknown, 'value is', 'values are')} below a limit that the file does not say, and "
                    f"counted as missing; if you know it, say so with below={{{name!r}: 0.05}} (--below '{name}=0.05', "
                    f"or --below '{name}' for the smallest value)"
                )
                self.decided[name] = replace(column, notes=(*column.notes, note))

    def _put_levels_back(self) -> None:
        """Decide again on text columns in which a marker is a category."""
        everywhere = {word for draft in self.drafts.values() for word in draft.markers}
        valued = {  # not made of text: numbers (also as levels), dates, yes and no
            name
            for name, column in self.decided.items()
            if column.kind in (Kind.NUMBER, Kind.DATE) or column.is_boolean or are_numbers(column.categories)
        }
        in_values = {word for name in valued for word in self.drafts[name].markers}
        settled = {name for name, kind in self.told.items() if kind.levels or kind.fixed or kind.kind == Kind.NUMBER}
        for name in self.decided:
            known = name in valued | settled | self.left.keys()
            levels = [] if known else own_levels(self.drafts[name], everywhere, in_values)
            if not levels:
                continue
            again = unmark(self.grid.written[name], self.missing[name], levels)
            column = self._decide(name, again)
            if column.used:
                words = some_of([f"{word!r} ({counted(self.drafts[name].markers[word], 'cell')})" for word in levels])
                advice = f"if it means a missing value, list it in missing (--missing '{name}={levels[0]}')"
                note = f"{words} was kept as a category; {advice}"
                self.drafts[name], self.decided[name] = again, replace(column, notes=(*column.notes, note))

    def with_dates(self) -> tuple[tuple[Column, ...], dict[str, Cells]]:
        """All columns, those of dates followed by their features, and the cells of these."""
        columns, cells = [], {}
        for column in self.decided.values():
            columns.append(column)
            if column.kind != Kind.DATE or not column.used:
                continue
            for name in feature_names(column.name, column.values):
                cells[name] = feature(name, column.values)
                months = tuple(month for month in MONTHS if month in set(cells[name]))
                spec = ColumnSpec(Kind.ORDERED, months) if months else ColumnSpec(Kind.NUMBER)
                made = decide(name, Unmarked(cells[name]), ".", spec)
                made = replace(made, day_first=column.day_first, why=f"{made.why}; of {column.name!r}")
                columns.append(replace(made, used=False, why=self.left[name]) if name in self.left else made)
        return tuple(columns), cells
