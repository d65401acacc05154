"""Further rows read as the first were: parts of a table where they are needed, and new tables for a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fusewise.support import InputError, counted, some_of
from fusewise.tables._binary import frame_of_parquet, grid_of_frame
from fusewise.tables._cells import unit_of
from fusewise.tables._columns import Column, ColumnSpec, Kind, are_numbers, refuse_too_large
from fusewise.tables._dates import with_features
from fusewise.tables._encoder import OTHER, ColumnCode, FrameEncoder
from fusewise.tables._grid import Grid, joined, refuse_other_columns
from fusewise.tables._reading import Reading, ReadOptions, read, read_file, read_grid
from fusewise.tables._recognition import row_names
from fusewise.tables._sources import format_of

#: Rows from which the kinds of the columns are decided, and the parts, at even distances, from which they are taken.
SAMPLED_ROWS, SAMPLED_PARTS = 20_000, 64

#: What is saved with a model of how each column was read.
READ_AS = ("missing", "unit", "day_first", "limit", "limits_missing")


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


def read_as_known(known: Mapping[str, ColumnSpec], path: str | Path, grid: Grid, asked: ReadOptions) -> Reading:
    """A table with its columns as they are known and in that order, and with notes on what did not match.

    Columns that are not in the table count as missing.
    """
    days = {name: spec.day_first for name, spec in known.items()}
    grid = replace(grid, levels={}, written=with_features(grid.written, days))
    told = {name: spec for name, spec in known.items() if name in grid.written}
    if not told:
        raise InputError(f"{str(path)!r} has none of the model's columns: {some_of([repr(name) for name in known])}")
    # Other columns must not influence how numbers are read.
    table = read(path, replace(asked, kinds=told, only=list(told), names=False, labels=False), grid)
    read_here = {column.name: column for column in table.columns}
    columns, absent = [], []
    for name, before in known.items():
        if name not in told:
            absent.append(f"column {name!r} is not in the table: treated as missing")
            columns.append(Column(name, before.kind, np.full(table.n_rows, np.nan), before.levels))
            continue
        column = read_here[name]
        _refuse_other_units(before, column)
        bounded = before.limit is not None and column.limit is None
        columns.append(column.below(before.limit, before.limits_missing) if bounded else column)
    others = [column for column in table.columns if column.name not in told]
    return replace(table, columns=(*columns, *others), notes=absent + table.notes)


def _refuse_other_units(known: ColumnSpec, column: Column) -> None:
    """Raise ``InputError`` if the unit differs from before; numbers without a unit match any unit except percent."""
    unit = unit_of(column.affix)
    if known.unit is None or unit == known.unit or np.isnan(column.values).all():
        return
    if "%" in (unit, known.unit) or (unit and known.unit):
        now, then = (f"numbers in {unit}" if unit else "numbers without a unit" for unit in (unit, known.unit))
        raise InputError(
            f"column {column.name!r} contains {now}, but contained {then} when the model was fitted: convert them"
        )


@dataclass(frozen=True, eq=False)
class PartReader:
    """Reads a part of a table: "rows", and of entries known in part "error", "lower" and "upper", those that it has.

    Each is a frame of the columns that are used, those of the rows as in ``Reading.frame``. The index has the names of
    the rows, or their numbers in the part from 1.
    """

    known: Mapping[str, ColumnSpec]
    first: str  # a part
    header: tuple[str, ...]  # the columns that every part has
    asked: ReadOptions  # with the separators of the sample
    names: str | None  # the column with the names of the rows

    @classmethod
    def like(cls, sample: Reading, first: Path, asked: ReadOptions) -> PartReader:
        """Read every part as a sample of the rows was read."""
        dialect = sample.dialect
        same = replace(asked, sep=asked.sep or dialect.separator, decimal=dialect.decimal)
        same = replace(same, only=(), ignore=(), kinds={}, below={})
        known = {column.name: column.as_read for column in sample.used}
        return cls(known, str(first), tuple(sample.written), same, sample.names_column)

    def __call__(self, file: Path) -> dict[str, Any]:
        """The frames of a part; ``InputError`` names the part, the column and the row that do not fit."""
        numbers: dict[str, Any] = {}
        if format_of(file) == "Parquet":
            frame = frame_of_parquet(file)
            # Numbers that cannot be markers stay numbers: other cells are read one by one.
            for name, spec in self.known.items():
                cells = frame.get(name)  # None: a feature of dates
                plain = spec.kind == Kind.NUMBER and not spec.missing and spec.limit is None
                if plain and cells is not None and cells.dtype.kind in "iuf":
                    numbers[name] = cells.to_numpy(float, na_value=np.nan)
            grid = grid_of_frame(str(file), frame.drop(columns=list(numbers)))
        else:
            grid = read_file(file, self.asked)
        refuse_other_columns(str(file), [*grid.written, *numbers], self.first, list(self.header))
        try:
            return self._frames(file, grid, numbers)
        except InputError as error:
            raise InputError(f"{str(file)!r}: {error}") from error

    @property
    def header_frame(self) -> Any:
        """The rows of a part without any."""
        return self._frames(Path(), Grid({name: np.empty(0, object) for name in self.header}), {})["rows"]

    def _frames(self, file: Path, grid: Grid, numbers: dict[str, Any]) -> dict[str, Any]:
        """The frames of cells, and of columns that are numbers already."""
        import pandas as pd

        for name, values in numbers.items():
            refuse_too_large(Column(name, Kind.NUMBER, values))
        n_rows = grid.n_rows if grid.written else len(next(iter(numbers.values())))
        index: Any = pd.RangeIndex(1, n_rows + 1, name="row")
        if self.names is not None:
            of_rows = row_names(grid.written, self.names, n_rows)
            index = pd.Index([str(name) for name in of_rows], name=self.names, dtype=object)
        known, half_known = {name: spec for name, spec in self.known.items() if name not in numbers}, {}
        made = pd.DataFrame(numbers, index=pd.RangeIndex(n_rows))
        if known:
            table = read_as_known(known, file, grid, self.asked)
            _refuse_other_levels(table)
            made, half_known = made.join(table.frame), table.half_known
        frames = {"rows": made[list(self.known)]}
        for what, values in half_known.items():
            partly = pd.DataFrame(values, columns=list(known))
            frames[what] = partly.reindex(columns=frames["rows"].columns, fill_value=0.0 if what == "error" else np.nan)
        return {what: frame.set_axis(index) for what, frame in frames.items()}


def _refuse_other_levels(table: Reading) -> None:
    """Raise ``InputError`` for the first cell that is not one of the levels of its column."""
    for column in table.used:
        cells = table.cells[column.name]
        unknown = np.flatnonzero(np.isnan(column.values) & np.array([cell is not None for cell in cells], dtype=bool))
        if column.kind != Kind.NUMBER and len(unknown):
            levels = some_of([repr(level) for level in column.categories], 6)
            raise InputError(
                f"column {column.name!r}, row {unknown[0] + 1}: {cells[unknown[0]]!r} is not one of the values in a "
                f"sample of the parts ({levels}): specify the column with --category or --ordered, or list it in "
                "--missing"
            )


def as_extra(table: Reading) -> dict[str, Any]:
    """How the columns of a table were read, as plain JSON values, to be saved with the model."""
    columns = [{"name": c.name} | {what: getattr(c.as_read, what) for what in READ_AS} for c in table.used]
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
    encoder: FrameEncoder | None = getattr(model, "encoder_", None)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = _in_order(model, path, grid, asked, numbers_only=encoder is None)
    codes = [ColumnCode("", "number")] * len(names) if encoder is None else encoder.columns
    try:
        read_before = {c["name"]: {what: c[what] for what in READ_AS} for c in extra.get("reading", ())}
    except (TypeError, KeyError) as error:
        raise InputError(f"the model's columns cannot be read: {error}") from error
    known = {}
    for name, code in zip(map(str, names), codes, strict=True):
        levels = tuple(level for level in code.spelling if level != OTHER)
        is_open = OTHER in code.levels
        known[name] = ColumnSpec(Kind(code.kind), levels, True, on_error, is_open=is_open, **read_before.get(name, {}))
    return read_as_known(known, path, grid, asked)


def _in_order(model: Any, path: str | Path, grid: Grid, asked: ReadOptions, *, numbers_only: bool) -> list[str]:
    """The columns of a table for a model without feature names: all that can be used, or the numbers."""
    used = read(path, asked, grid).used
    names = [c.name for c in used if c.kind == Kind.NUMBER or are_numbers(c.categories) or not numbers_only]
    needed = getattr(model, "n_features_in_", 0)
    if len(names) != needed:
        has = f"{str(path)!r} has {counted(len(names), 'numeric column' if numbers_only else 'usable column')}"
        raise InputError(f"the model has {counted(needed, 'unnamed feature')}, but {has}")
    return names
