"""Reading of a new table in the same way as the table a model was fitted to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fusewise.support.words import counted, some_of
from fusewise.tables.column_codes import OTHER, ColumnCode
from fusewise.tables.column_kinds import FLAGS, Column, Kind
from fusewise.tables.deciding import ColumnSpec, level_key
from fusewise.tables.encoder import FrameEncoder
from fusewise.tables.errors import InputError
from fusewise.tables.grids import Grid
from fusewise.tables.markers import marker_of
from fusewise.tables.numbers import unit_of
from fusewise.tables.read_options import ReadOptions
from fusewise.tables.read_result import Reading
from fusewise.tables.reading import read, read_grid


@dataclass(frozen=True)
class Known:
    """A column as it was when the model was fitted: its code, its additional markers and its unit (None: unknown)."""

    code: ColumnCode
    missing: Sequence[str] = ()
    unit: str | None = None

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.code.name

    @property
    def kind(self) -> Kind:
        """Kind of the column."""
        return Kind(self.code.kind)

    def told(self, cells: Iterable[Any], on_error: Literal["raise", "missing"]) -> ColumnSpec:
        """How to read the column in a new table, where it has these cells."""
        levels = tuple(level for level in self.code.spelling if level != OTHER)
        if self.code.kind == "flag" and not self.code.words:  # of a frame: a file may say yes and no
            words = {str(cell).strip().lower() for cell in cells}
            levels = tuple(sorted(next((pair for pair in FLAGS if pair & words), FLAGS[0])))
        if self.code.levels[-1:] == (OTHER,):
            known = {level_key(level) for level in levels}
            given = {level_key(cell).strip() for cell in cells if cell is not None}
            levels += tuple(sorted(word for word in given - known if marker_of(word) is None))
        return ColumnSpec(self.kind, levels, fixed=True, on_error=on_error, missing=tuple(self.missing))


def as_extra(table: Reading) -> dict[str, Any]:
    """How the columns of a table were read, as plain JSON values, to be saved with the model."""
    columns = [{"name": c.name, "missing": list(c.missing), "unit": unit_of(c.affix)} for c in table.used]
    return {"reading": columns, "names": table.names_column, "labels": table.labels_column}


def recode(
    model: Any,
    extra: dict[str, Any],
    path: str | Path,
    asked: ReadOptions,
    on_error: Literal["raise", "missing"] = "raise",
) -> Reading:
    """Read a table with the columns of a model, in its order, and with notes on what did not match.

    Columns that are not in the table, and categories that did not occur in the fit, count as missing.

    Parameters
    ----------
    model : the fitted estimator.
    extra : the result of ``as_extra`` from the fit; empty for a model that was fitted in Python.
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
    told = {column.name: column.told(grid.written[column.name], on_error) for column in here}
    # Other columns must not influence how numbers are read.
    table = read(path, replace(asked, kinds=told, only=list(told), names=False, labels=False), grid)
    read_here = {column.name: column for column in table.columns}
    columns, absent = [], []
    for column in known:
        made = read_here.get(column.name) if column.name in told else None
        if made is None:
            absent.append(f"column {column.name!r} is not in the table: treated as missing")
            made = Column(column.name, column.kind, np.full(table.n_rows, np.nan), column.code.spelling)
        _refuse_other_units(column, made)
        columns.append(made)
    others = [column for column in table.columns if column.name not in told]
    return replace(table, columns=(*columns, *others), notes=absent + table.notes)


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
    encoder: FrameEncoder | None = getattr(model, "encoder_", None)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = _in_order(model, path, grid, asked, numbers_only=encoder is None)
    codes = [ColumnCode(str(name), "number") for name in names]
    if encoder is not None:
        codes = [replace(code, name=str(name)) for code, name in zip(encoder.columns, names, strict=True)]
    try:
        read_as = {column["name"]: (column["missing"], column["unit"]) for column in extra.get("reading", ())}
    except (TypeError, KeyError) as error:
        raise InputError(f"the model's columns cannot be read: {error}") from error
    return [Known(code, *read_as.get(code.name, ())) for code in codes]


def _in_order(model: Any, path: str | Path, grid: Grid, asked: ReadOptions, *, numbers_only: bool) -> list[str]:
    """The columns of a table for a model without feature names: all that can be used, or the numbers."""
    used = read(path, asked, grid, codes=False).used
    names = [column.name for column in used if column.kind == Kind.NUMBER or not numbers_only]
    needed = getattr(model, "n_features_in_", 0)
    if len(names) != needed:
        has = f"{str(path)!r} has {counted(len(names), 'numeric column' if numbers_only else 'usable column')}"
        raise InputError(f"the model has {counted(needed, 'unnamed feature')}, but {has}")
    return names


def as_read_now(model: Any, extra: dict[str, Any]) -> dict[str, Any]:
    """Give a model saved by an earlier version its encoder, and return `extra` as this version has it.

    Earlier versions kept the encoding of the columns beside the model, which was fitted to encoded features.
    """
    columns = extra.get("columns")
    if columns is None:
        return extra
    try:
        model.encoder_ = FrameEncoder(tuple(_code_of(column) for column in columns))
        reading = [{"name": c["name"], "missing": c.get("missing", []), "unit": c.get("unit")} for c in columns]
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise InputError(f"the model's columns cannot be read: {error}") from error
    model.n_features_in_ = len(columns)
    model.feature_names_in_ = np.array([column["name"] for column in columns], dtype=object)
    return {"reading": reading, "names": extra.get("names"), "labels": extra.get("labels")}


def _code_of(column: dict[str, Any]) -> ColumnCode:
    """The code of a column as an earlier version described it."""
    kind, words = Kind(column["kind"]), tuple(column["categories"])
    boolean = Column(column["name"], kind, categories=words).is_boolean
    single = not column.get("typed") and (kind == Kind.ORDERED or len(words) == 2)
    return ColumnCode(
        column["name"],
        str(kind),
        (False, True) if boolean else words,
        "object",
        words if boolean else (),
        tuple(map(float, range(len(words)))) if single else (),
        tuple(map(float, column["means"])) if column["standardized"] else (),
        float(column["spread"]) if column["standardized"] else 1.0,
    )
