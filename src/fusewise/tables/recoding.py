"""Encoding of a new table in the same way as the table a model was fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fusewise.kernels.words import counted, some_of
from fusewise.tables.column_kinds import Column, Kind
from fusewise.tables.deciding import ColumnSpec
from fusewise.tables.encoding import Block, Encoding, indicators
from fusewise.tables.errors import InputError
from fusewise.tables.grids import Grid
from fusewise.tables.numbers import unit_of
from fusewise.tables.read_options import ReadOptions
from fusewise.tables.reading import Reading, read, read_grid


@dataclass(frozen=True)
class Known:
    """A column as it was when the model was fitted: its kind, its levels and its additional markers."""

    name: str
    kind: Kind
    categories: list[Any]
    means: list[float]
    spread: float
    standardized: bool
    missing: Sequence[str] = ()
    unit: str | None = None
    typed: bool = False

    def told(self, on_error: Literal["raise", "missing"]) -> ColumnSpec:
        """How to read the column in a new table."""
        return ColumnSpec(self.kind, tuple(self.categories), fixed=True, on_error=on_error, missing=tuple(self.missing))


def as_extra(encoding: Encoding, table: Reading) -> dict[str, Any]:
    """The encoding of the table as plain JSON values, to be saved with the model."""
    columns = [
        {
            "name": block.column.name,
            "kind": block.column.kind.value,
            "categories": [_plain(category) for category in block.column.categories],
            "means": block.means.tolist(),
            "spread": block.spread,
            "standardized": block.standardized,
            "missing": list(block.column.missing),
            "unit": unit_of(block.column.affix),
            "typed": block.typed,
        }
        for block in encoding.blocks
    ]
    return {"columns": columns, "names": table.names_column, "labels": table.labels_column}


def _plain(category: Any) -> Any:
    return category.item() if isinstance(category, np.generic) else category


def recode(
    model: Any,
    extra: dict[str, Any],
    path: str | Path,
    asked: ReadOptions,
    on_error: Literal["raise", "missing"] = "raise",
) -> tuple[Reading, Encoding]:
    """Read a table and encode it as in the fit, with notes on what did not match.

    Columns that are not in the table, and categories that did not occur in the fit, count as missing.

    Parameters
    ----------
    model : the fitted estimator; its feature names are used if `extra` does not describe the columns.
    extra : the result of ``as_extra`` from the fit.
    path : the new table.
    asked : the user's options for reading it.
    on_error : whether a cell that is not a number in a numeric column is an error, or a missing value.
    """
    grid = read_grid(path, asked.sheet, asked.sep)
    known = _known(model, extra, path, grid, asked)
    here = [column for column in known if column.name in grid.written]
    if not here:
        shown = some_of([repr(column.name) for column in known])
        raise InputError(f"{str(path)!r} has none of the model's columns: {shown}")
    told = {column.name: column.told(on_error) for column in here}
    # Other columns must not influence how numbers are read.
    table = read(path, replace(asked, kinds=told, only=list(told), names=False, labels=False), grid)
    read_here = {column.name: column for column in table.columns}
    blocks, absent = [], []
    for column in known:
        made = read_here.get(column.name) if column.name in told else None
        if made is None:
            absent.append(f"column {column.name!r} is not in the table: treated as missing")
            empty = np.full(table.n_rows, np.nan)
            made = Column(column.name, column.kind, empty, tuple(column.categories))
        _refuse_other_units(column, made)
        features, values = indicators(made, column.typed)
        means = np.array(column.means)
        blocks.append(Block(made, features, values, means, column.spread, column.standardized, column.typed))
    return replace(table, notes=absent + table.notes), Encoding(blocks)


def _refuse_other_units(known: Known, column: Column) -> None:
    """Raise ``InputError`` if the unit differs from the fit; numbers without a unit match any unit except percent."""
    unit = unit_of(column.affix)
    if known.unit is None or unit == known.unit or np.isnan(column.values).all():
        return
    if "%" in (unit, known.unit) or (unit and known.unit):
        raise InputError(
            f"column {column.name!r} contains {_in(unit)}, but contained {_in(known.unit)} when the model was fitted: "
            "convert them"
        )


def _in(unit: str) -> str:
    return f"numbers in {unit}" if unit else "numbers without a unit"


def _known(model: Any, extra: dict[str, Any], path: str | Path, grid: Grid, asked: ReadOptions) -> list[Known]:
    if "columns" not in extra:
        return [Known(name, Kind.NUMBER, [], [0.0], 1.0, False) for name in _names(model, path, grid, asked)]
    try:
        return [Known(**column | {"kind": Kind(column["kind"])}) for column in extra["columns"]]
    except (TypeError, KeyError, ValueError) as error:
        raise InputError(f"the model's columns cannot be read: {error}") from error


def _names(model: Any, path: str | Path, grid: Grid, asked: ReadOptions) -> list[str]:
    """Columns of a model saved from Python: by name if it has feature names, else the numeric columns in order."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    numbers = [column.name for column in read(path, asked, grid).used if column.kind == Kind.NUMBER]
    needed = getattr(model, "n_features_in_", 0)
    if len(numbers) != needed:
        has = f"{str(path)!r} has {counted(len(numbers), 'numeric column')}"
        raise InputError(f"the model has {counted(needed, 'unnamed feature')}, but {has}")
    return numbers
