"""Reading of single parts of a table, all in the same way, where they are needed: on threads, processes or machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fusewise.kernels import Floats
from fusewise.support.words import some_of
from fusewise.tables.binary import frame_of_parquet, grid_of_frame
from fusewise.tables.column_kinds import Column, Kind
from fusewise.tables.deciding import ColumnSpec, level_key, refuse_too_large
from fusewise.tables.errors import InputError
from fusewise.tables.grids import Cells, Grid
from fusewise.tables.markers import marker_of
from fusewise.tables.parts import format_of, joined, refuse_other_columns
from fusewise.tables.read_options import ReadOptions
from fusewise.tables.read_result import Reading
from fusewise.tables.reading import read, read_file
from fusewise.tables.roles import row_names

#: Rows from which the kinds of the columns are decided, and the parts, at even distances, from which they are taken.
SAMPLED_ROWS, SAMPLED_PARTS = 20_000, 64

#: Name of the index of rows without names.
ROW = "row"


def sampled_parts(files: Sequence[Path]) -> list[Path]:
    """The parts from which rows are sampled: all, or some at even distances."""
    which = np.linspace(0, len(files) - 1, min(len(files), SAMPLED_PARTS)).round().astype(int)
    return [files[k] for k in which]


def sampled_rows(file: Path, number: int, n_parts: int, asked: ReadOptions) -> Grid:
    """Random rows of a part, in their order, as many as are needed from each of `n_parts`."""
    grid = read_file(file, asked.sheet, asked.sep)
    most = -(-SAMPLED_ROWS // n_parts)
    if grid.n_rows <= most:
        return grid
    rows = np.sort(np.random.default_rng(number).choice(grid.n_rows, most, replace=False))
    return replace(grid, written={name: cells[rows] for name, cells in grid.written.items()})


def read_sample(path: Path, files: Sequence[Path], grids: Sequence[Grid], asked: ReadOptions) -> Reading:
    """Decide the kinds of the columns of a table from rows of its parts."""
    separators = {grid.separator for grid in grids}
    if len(separators) > 1:
        raise InputError(f"the parts of {str(path)!r} have different field separators: choose one with --sep")
    grid = joined(zip(map(str, files), grids, strict=True))
    if not grid.n_rows:
        raise InputError(f"the parts of {str(path)!r} have no rows")
    return read(path, asked, grid)


@dataclass(frozen=True, eq=False)
class PartReader:
    """Reads a part of a table as a frame of the columns that are used.

    Numbers are float64, categories objects (text), ordered ones an ordered ``category``, flags ``boolean``. The index
    has the names of the rows, or their numbers in the part from 1.

    Attributes
    ----------
    columns : the columns that are used, as in a sample of the rows (without these).
    first, header : a part, and the columns that every part has.
    asked : options for reading, with the separators of the sample.
    names : the column with the names of the rows, if there is one.
    """

    columns: tuple[Column, ...]
    first: str
    header: tuple[str, ...]
    asked: ReadOptions
    names: str | None

    @classmethod
    def like(cls, sample: Reading, first: Path, asked: ReadOptions) -> PartReader:
        """Read every part as a sample of the rows was read."""
        columns = tuple(replace(column, values=np.empty(0)) for column in sample.used)
        dialect = sample.dialect
        same = replace(asked, sep=asked.sep or dialect.separator, decimal=dialect.decimal, only=(), ignore=(), kinds={})
        return cls(columns, str(first), tuple(sample.written), same, sample.names_column)

    def __call__(self, file: Path) -> Any:
        """The frame of a part; ``InputError`` names the part, the column and the row that do not fit."""
        if format_of(file) == "Parquet":
            return self._from_parquet(file)
        grid = read_file(file, sep=self.asked.sep)
        return self._framed(file, self._read(file, grid, self.columns), self._index(grid.written, grid.n_rows))

    @property
    def header_frame(self) -> Any:
        """The frame of a part without rows."""
        return self._framed(Path(self.first), {}, self._index({name: np.empty(0, object) for name in self.header}, 0))

    def _from_parquet(self, file: Path) -> Any:
        """Numbers stay numbers; cells of other columns, and numbers that may be markers, are read one by one."""
        frame = frame_of_parquet(file)
        refuse_other_columns(str(file), list(frame.columns), self.first, list(self.header))
        fast = [
            column
            for column in self.columns
            if column.kind == Kind.NUMBER and frame[column.name].dtype.kind in "iuf" and not self.asked.missing
        ]
        values = {column.name: _numbers(file, column, frame[column.name]) for column in fast}
        others = [column for column in self.columns if column.name not in values]
        needed = [column.name for column in others] + ([] if self.names is None else [self.names])
        cells = grid_of_frame(str(file), frame[list(dict.fromkeys(needed))])
        read = self._read(file, cells, others) if others and len(frame) else {}
        return self._framed(file, values | read, self._index(cells.written, len(frame)))

    def _read(self, file: Path, grid: Grid, columns: Sequence[Column]) -> dict[str, Any]:
        """The entries of columns, as their kinds say."""
        if len(columns) == len(self.columns):
            refuse_other_columns(str(file), list(grid.written), self.first, list(self.header))
        if not grid.n_rows:
            return {}
        told = {column.name: _as_sampled(column, grid.written[column.name]) for column in columns}
        asked = replace(self.asked, kinds=told, only=list(told), names=False, labels=False, sep=None)
        try:
            found = read(file, asked, replace(grid, levels={}), codes=False)
        except InputError as error:
            raise InputError(f"{str(file)!r}: {error}") from error
        made = {column.name: column for column in found.columns if column.name in told}
        return {column.name: _entries(file, column, made[column.name], found.cells[column.name]) for column in columns}

    def _index(self, cells: Mapping[str, Cells], n_rows: int) -> Any:
        import pandas as pd

        if self.names is None:
            return pd.RangeIndex(1, n_rows + 1, name=ROW)
        names = row_names(dict(cells), self.names, n_rows)
        return pd.Index([str(name) for name in names], name=self.names, dtype=object)

    def _framed(self, file: Path, entries: Mapping[str, Any], index: Any) -> Any:
        import pandas as pd

        made = {}
        for column in self.columns:
            values = entries.get(column.name, [])
            dtype: Any = {Kind.NUMBER: float}.get(column.kind, object)
            if column.is_boolean:
                dtype = "boolean"
            elif column.kind == Kind.ORDERED:
                dtype = pd.CategoricalDtype([level_key(level) for level in column.categories], ordered=True)
            made[column.name] = pd.Series(values, index=index, dtype=dtype)
        return pd.DataFrame(made, index=index)


def _as_sampled(column: Column, cells: Cells) -> ColumnSpec:
    """How to read a column in a part: with the levels of the sample, and of a category those that are new as well."""
    levels = column.categories
    if column.kind == Kind.CATEGORY:
        known = {level_key(level) for level in levels}
        words = {level_key(cell).strip() for cell in cells if cell is not None}
        levels += tuple(sorted(word for word in words - known if marker_of(word) is None))
    return ColumnSpec(column.kind, levels, fixed=True, on_error="raise", missing=column.missing)


def _numbers(file: Path, column: Column, cells: Any) -> Floats:
    values: Floats = cells.to_numpy(float, na_value=np.nan)
    try:
        refuse_too_large(replace(column, values=values))
    except InputError as error:
        raise InputError(f"{str(file)!r}: {error}") from error
    return values


def _entries(file: Path, column: Column, made: Column, cells: Cells) -> Any:
    """The entries of a column of a part: numbers, flags, or the levels as text."""
    if column.kind == Kind.NUMBER:
        if made.affix != column.affix and any(made.affix) and not np.isnan(made.values).all():
            raise InputError(
                f"{str(file)!r}: column {column.name!r} has numbers such as {''.join(made.affix)!r} beside them, "
                f"in other parts {''.join(column.affix)!r}: convert them to one unit"
            )
        return made.values
    unknown = np.flatnonzero(np.isnan(made.values) & np.array([cell is not None for cell in cells]))
    if len(unknown):
        levels = some_of([repr(level) for level in column.categories], 6)
        raise InputError(
            f"{str(file)!r}: column {column.name!r}, row {unknown[0] + 1}: {cells[unknown[0]]!r} is not one of the "
            f"values in a sample of the parts ({levels}): specify the column with --category or --ordered, or list "
            "it in --missing"
        )
    if column.is_boolean:
        return made.entries
    return [None if entry is None else level_key(entry) for entry in made.entries]
