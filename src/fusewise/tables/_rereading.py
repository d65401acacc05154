"""Further rows read as the first were: parts of a table where they are needed, and new tables for a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fusewise.support import InputError, counted, some_of
from fusewise.tables._binary import frame_of_parquet, grid_of_frame
from fusewise.tables._cells import marker_of, read_numbers, unit_of, unmark
from fusewise.tables._codes import OTHER, ColumnCode
from fusewise.tables._columns import FLAGS, Column, ColumnSpec, Kind, level_key, refuse_too_large
from fusewise.tables._dates import with_features
from fusewise.tables._encoder import FrameEncoder
from fusewise.tables._grid import Cells, Grid, joined, refuse_other_columns
from fusewise.tables._reading import Reading, ReadOptions, read, read_file, read_grid
from fusewise.tables._recognition import row_names
from fusewise.tables._sources import format_of

#: Rows from which the kinds of the columns are decided, and the parts, at even distances, from which they are taken.
SAMPLED_ROWS, SAMPLED_PARTS = 20_000, 64

#: What is saved with a model of how each column was read.
READ_AS = ("missing", "unit", "day_first", "limit", "limits_missing")

#: Name of the index of rows without names.
ROW = "row"


def sampled_parts(files: Sequence[Path]) -> list[Path]:
    """The parts from which rows are sampled: all, or some at even distances."""
    which = np.linspace(0, len(files) - 1, min(len(files), SAMPLED_PARTS)).round().astype(int)
    return [files[k] for k in which]


def sampled_rows(file: Path, number: int, n_parts: int, asked: ReadOptions) -> Grid:
    """Random rows of a part, in their order, as many as are needed from each of `n_parts`."""
    grid = read_file(file, asked)
    most = -(-SAMPLED_ROWS // n_parts)
    if grid.n_rows <= most:
        return grid
    rows = np.sort(np.random.default_rng(number).choice(grid.n_rows, most, replace=False))
    return replace(grid, written={name: cells[rows] for name, cells in grid.written.items()}, sample_of=grid.n_rows)


def read_sample(path: Path, files: Sequence[Path], grids: Sequence[Grid], asked: ReadOptions, n_parts: int) -> Reading:
    """Decide the kinds of the columns of a table from rows of some of its parts, `files` of `n_parts`."""
    separators = {grid.separator for grid in grids}
    if len(separators) > 1:
        raise InputError(f"the parts of {str(path)!r} have different field separators: choose one with --sep")
    grid = joined(zip(map(str, files), grids, strict=True))
    if not grid.n_rows:
        raise InputError(f"the parts of {str(path)!r} have no rows")
    n_rows = round((grid.sample_of or grid.n_rows) * n_parts / len(files))
    return read(path, asked, replace(grid, sample_of=n_rows))


@dataclass(frozen=True, eq=False)
class PartReader:
    """Reads a part of a table: "rows", and of entries known in part "error", "lower" and "upper", those that it has.

    Each is a frame of the columns that are used. In "rows", numbers are float64, categories objects (text), ordered
    ones an ordered ``category``, flags ``boolean``. The index has the names of the rows, or their numbers in the part
    from 1.
    """

    columns: tuple[Column, ...]  # as in a sample of the rows, without these
    first: str  # a part
    header: tuple[str, ...]  # the columns that every part has
    asked: ReadOptions  # with the separators of the sample
    names: str | None  # the column with the names of the rows

    @classmethod
    def like(cls, sample: Reading, first: Path, asked: ReadOptions) -> PartReader:
        """Read every part as a sample of the rows was read."""
        columns = tuple(replace(column, values=np.empty(0), half=None) for column in sample.used)
        dialect = sample.dialect
        same = replace(asked, sep=asked.sep or dialect.separator, decimal=dialect.decimal)
        same = replace(same, only=(), ignore=(), kinds={}, below={})
        return cls(columns, str(first), tuple(sample.written), same, sample.names_column)

    def __call__(self, file: Path) -> dict[str, Any]:
        """The frames of a part; ``InputError`` names the part, the column and the row that do not fit."""
        if format_of(file) == "Parquet":
            return self._from_parquet(file)
        grid = read_file(file, self.asked)
        refuse_other_columns(str(file), list(grid.written), self.first, list(self.header))
        return self._framed(*self._read(file, grid, self.columns), self._index(grid.written, grid.n_rows))

    @property
    def header_frame(self) -> Any:
        """The rows of a part without any."""
        return self._framed({}, {}, self._index({name: np.empty(0, object) for name in self.header}, 0))["rows"]

    def _from_parquet(self, file: Path) -> dict[str, Any]:
        """Numbers stay numbers; cells of other columns, and numbers that may be markers, are read one by one."""
        frame = frame_of_parquet(file)
        refuse_other_columns(str(file), list(frame.columns), self.first, list(self.header))
        fast, others = {}, []
        for column in self.columns:
            cells = frame.get(column.name)  # None: a feature of dates
            plain = column.kind == Kind.NUMBER and not column.missing and column.limit is None
            if plain and cells is not None and cells.dtype.kind in "iuf":
                fast[column.name] = cells.to_numpy(float, na_value=np.nan)
                with _in_part(file):
                    refuse_too_large(replace(column, values=fast[column.name]))
            else:
                others.append(column)
        grid = grid_of_frame(str(file), frame.drop(columns=list(fast)))
        read, half = self._read(file, grid, others) if others and len(frame) else ({}, {})
        return self._framed(fast | read, half, self._index(grid.written, len(frame)))

    def _read(self, file: Path, grid: Grid, columns: Sequence[Column]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The entries of columns, as their kinds say; and the error, lower and upper of those known in part."""
        if not grid.n_rows:
            return {}, {}
        grid = replace(grid, levels={}, written=with_features(grid.written, {c.name: c.day_first for c in columns}))
        decimal = self.asked.decimal or "."
        told = {column.name: _as_sampled(column, grid.written[column.name], decimal) for column in columns}
        asked = replace(self.asked, kinds=told, only=list(told), names=False, labels=False, sep=None)
        with _in_part(file):
            found = read(file, asked, grid)
            made = {column.name: column for column in found.columns if column.name in told}
            entries = {c.name: _entries(c, made[c.name], found.cells[c.name]) for c in columns}
        limits = {column.name: (column.limit, column.limits_missing) for column in columns if column.limit is not None}
        known = [column.below(*limits[name]) if name in limits else column for name, column in made.items()]
        half = replace(found, columns=tuple(known)).half_known
        return entries, {what: dict(zip(made, each.T, strict=True)) for what, each in half.items()}

    def _index(self, cells: Mapping[str, Cells], n_rows: int) -> Any:
        import pandas as pd

        if self.names is None:
            return pd.RangeIndex(1, n_rows + 1, name=ROW)
        names = row_names(dict(cells), self.names, n_rows)
        return pd.Index([str(name) for name in names], name=self.names, dtype=object)

    def _framed(self, entries: Mapping[str, Any], half: Mapping[str, Any], index: Any) -> dict[str, Any]:
        import pandas as pd

        made = {}
        for column in self.columns:
            values = entries.get(column.name, [])
            dtype: Any = "boolean" if column.is_boolean else float if column.kind == Kind.NUMBER else object
            if column.kind == Kind.ORDERED:
                known = [level_key(level) for level in column.categories]
                new = {value for value in values if value is not None} - set(known)
                dtype = pd.CategoricalDtype(sorted([*known, *new], key=float) if new else known, ordered=True)
            made[column.name] = pd.Series(values, index=index, dtype=dtype)
        frames = {"rows": pd.DataFrame(made, index=index)}
        for what, known in half.items():
            nothing = 0.0 if what == "error" else np.nan
            frames[what] = pd.DataFrame({name: known.get(name, nothing) for name in made}, index=index)
        return frames


def _as_sampled(column: Column, cells: Cells, decimal: str) -> ColumnSpec:
    """How to read a column in a part: with the levels of the sample, and those of a category or scale that are new."""
    levels = column.categories
    open_ended = column.kind == Kind.CATEGORY or (column.kind == Kind.FLAG and not column.is_boolean)
    if column.has_numbers and (open_ended or column.kind == Kind.ORDERED):
        values = read_numbers(unmark(cells, column.missing).cells, decimal).values
        new = sorted({*values[~np.isnan(values)].tolist()} - {*levels})
        levels = tuple(sorted((*levels, *(int(value) if value.is_integer() else value for value in new))))
    elif open_ended:
        known = {level_key(level) for level in levels}
        words = {level_key(cell).strip() for cell in cells if cell is not None}
        levels += tuple(sorted(word for word in words - known if marker_of(word) is None))
    return ColumnSpec(column.kind, levels, fixed=True, on_error="raise", missing=column.missing)


@contextmanager
def _in_part(file: Path) -> Iterator[None]:
    """Name the part in an error."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{str(file)!r}: {error}") from error


def _entries(column: Column, made: Column, cells: Cells) -> Any:
    """The entries of a column of a part: numbers, flags, or the levels as text."""
    if column.kind == Kind.NUMBER:
        if made.affix != column.affix and any(made.affix) and not np.isnan(made.values).all():
            here, elsewhere = "".join(made.affix), "".join(column.affix)
            what = f"numbers such as {here!r} beside them, in other parts {elsewhere!r}"
            raise InputError(f"column {column.name!r} has {what}: convert them to one unit")
        return made.values
    unknown = np.flatnonzero(np.isnan(made.values) & np.array([cell is not None for cell in cells]))
    if len(unknown):
        levels = some_of([repr(level) for level in column.categories], 6)
        raise InputError(
            f"column {column.name!r}, row {unknown[0] + 1}: {cells[unknown[0]]!r} is not one of the values in a sample "
            f"of the parts ({levels}): specify the column with --category or --ordered, or list it in --missing"
        )
    if column.is_boolean:
        return made.entries
    return [None if entry is None else level_key(entry) for entry in made.entries]


@dataclass(frozen=True)
class Known:
    """A column as it was when the model was fitted; `missing` are additional markers."""

    code: ColumnCode
    missing: Sequence[str] = ()
    unit: str | None = None  # None: unknown
    day_first: bool = False
    limit: float | None = None
    limits_missing: bool = False

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.code.name

    def told(self, cells: Iterable[Any], on_error: Literal["raise", "missing"]) -> ColumnSpec:
        """How to read the column in a new table, where it has these cells."""
        levels = tuple(level for level in self.code.spelling if level != OTHER)
        if self.code.levels == (False, True) and not self.code.words:  # of a frame: a file may say yes and no
            words = {str(cell).strip().lower() for cell in cells}
            levels = tuple(sorted(next((pair for pair in FLAGS if pair & words), FLAGS[0])))
        if self.code.levels[-1:] == (OTHER,):
            known = {level_key(level) for level in levels}
            given = {level_key(cell).strip() for cell in cells if cell is not None}
            levels += tuple(sorted(word for word in given - known if marker_of(word) is None))
        return ColumnSpec(Kind(self.code.kind), levels, fixed=True, on_error=on_error, missing=tuple(self.missing))


def as_extra(table: Reading) -> dict[str, Any]:
    """How the columns of a table were read, as plain JSON values, to be saved with the model."""
    columns: list[dict[str, Any]] = [
        {
            "name": c.name,
            "missing": list(c.missing),
            "unit": unit_of(c.affix),
            "day_first": c.day_first,
            "limit": c.limit,
            "limits_missing": c.limits_missing,
        }
        for c in table.used
    ]
    return {"reading": columns, "names": table.names_column, "labels": table.labels_column}


def reread(model: Any, table: Reading) -> Reading:
    """A table that was read by itself, with its columns read as in the fit of a model, which may be otherwise.

    Its features of dates are counted from the model's first day, and whole numbers are levels if they were.
    """
    encoder: FrameEncoder | None = getattr(model, "encoder_", None)
    here = [column for column in table.columns if column.used and column.kind != Kind.DATE]
    names = list(getattr(model, "feature_names_in_", [column.name for column in here]))
    kinds = [str(Kind.NUMBER)] * len(names) if encoder is None else [code.kind for code in encoder.columns]
    if [(column.name, str(column.kind)) for column in here] == list(zip(names, kinds, strict=True)):
        return table
    grid = Grid(table.written, table.dialect.separator)
    return recode(model, {}, table.path, replace(table.options, decimal=table.dialect.decimal), grid=grid)


def recode(
    model: Any,
    extra: dict[str, Any],
    path: str | Path,
    asked: ReadOptions,
    on_error: Literal["raise", "missing"] = "raise",
    grid: Grid | None = None,
) -> Reading:
    """Read a table with the columns of a model, in its order, and with notes on what did not match.

    Columns that are not in the table, and categories that did not occur in the fit, count as missing. `extra` is what
    ``as_extra`` said of the fit, empty for a model that was fitted in Python; `on_error` is for cells that are not
    numbers in a numeric column.
    """
    grid = read_grid(path, asked) if grid is None else grid
    known = _known(model, extra, path, grid, asked)
    grid = replace(grid, written=with_features(grid.written, {column.name: column.day_first for column in known}))
    here = [column for column in known if column.name in grid.written]
    if not here:
        shown = some_of([repr(column.name) for column in known])
        raise InputError(f"{str(path)!r} has none of the model's columns: {shown}")
    told = {column.name: column.told(grid.written[column.name], on_error) for column in here}
    # Other columns must not influence how numbers are read.
    table = read(path, replace(asked, kinds=told, only=list(told), names=False, labels=False), grid)
    read_here = {column.name: column for column in table.columns if column.name in told}
    columns, absent = [], []
    for column in known:
        made = read_here.get(column.name)
        if made is None:
            absent.append(f"column {column.name!r} is not in the table: treated as missing")
            made = Column(column.name, Kind(column.code.kind), np.full(table.n_rows, np.nan), column.code.spelling)
        _refuse_other_units(column, made)
        bounded = column.limit is not None and made.limit is None
        columns.append(made.below(column.limit, column.limits_missing) if bounded else made)
    others = [column for column in table.columns if column.name not in told]
    return replace(table, columns=(*columns, *others), notes=absent + table.notes)


def _refuse_other_units(known: Known, column: Column) -> None:
    """Raise ``InputError`` if the unit differs from the fit; numbers without a unit match any unit except percent."""
    unit = unit_of(column.affix)
    if known.unit is None or unit == known.unit or np.isnan(column.values).all():
        return
    if "%" in (unit, known.unit) or (unit and known.unit):
        now, then = (f"numbers in {unit}" if unit else "numbers without a unit" for unit in (unit, known.unit))
        raise InputError(
            f"column {column.name!r} contains {now}, but contained {then} when the model was fitted: convert them"
        )


def _known(model: Any, extra: dict[str, Any], path: str | Path, grid: Grid, asked: ReadOptions) -> list[Known]:
    encoder: FrameEncoder | None = getattr(model, "encoder_", None)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = _in_order(model, path, grid, asked, numbers_only=encoder is None)
    codes = [ColumnCode(str(name), "number") for name in names]
    if encoder is not None:
        codes = [replace(code, name=str(name)) for code, name in zip(encoder.columns, names, strict=True)]
    try:
        read_as = {c["name"]: [c[what] for what in READ_AS] for c in extra.get("reading", ())}
    except (TypeError, KeyError) as error:
        raise InputError(f"the model's columns cannot be read: {error}") from error
    return [Known(code, *read_as.get(code.name, ())) for code in codes]


def _in_order(model: Any, path: str | Path, grid: Grid, asked: ReadOptions, *, numbers_only: bool) -> list[str]:
    """The columns of a table for a model without feature names: all that can be used, or the numbers."""
    used = read(path, asked, grid).used
    names = [c.name for c in used if c.kind == Kind.NUMBER or c.has_numbers or not numbers_only]
    needed = getattr(model, "n_features_in_", 0)
    if len(names) != needed:
        has = f"{str(path)!r} has {counted(len(names), 'numeric column' if numbers_only else 'usable column')}"
        raise InputError(f"the model has {counted(needed, 'unnamed feature')}, but {has}")
    return names
