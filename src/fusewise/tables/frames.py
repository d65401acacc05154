"""The columns of a table, whatever holds it: a pandas or polars frame, a file that was read, or an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fusewise.kernels import Floats
from fusewise.observations import as_objects, is_missing
from fusewise.support.records import InputError
from fusewise.tables.column_kinds import Column, Kind
from fusewise.tables.read_result import Reading

#: How the dtypes of dates and times begin.
DATE_KINDS = ("date", "time", "period")


def is_frame(X: Any) -> bool:
    """Whether X is a pandas or polars frame."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "get_columns"))


def names_of(X: Any) -> list[str]:
    """Names of the columns; x0, x1, ... of an array."""
    if isinstance(X, Reading):
        return [column.name for column in X.used]
    return [str(name) for name in getattr(X, "columns", [f"x{j}" for j in range(np.shape(X)[1])])]


def columns_of(X: Any) -> list[Any]:
    """The columns: series of a frame, ``Column`` of a file that was read, or arrays."""
    if isinstance(X, Reading):
        return list(X.used)
    if hasattr(X, "iloc"):
        return [X.iloc[:, j] for j in range(X.shape[1])]
    if hasattr(X, "get_columns"):
        return list(X.get_columns())
    array = as_objects(X)
    return [array[:, j] for j in range(array.shape[1])]


def dtype_of(column: Any) -> str:
    """The dtype in lower case: "category", "object", "string", "boolean", "datetime64[ns]", "enum", ..."""
    return str(getattr(column, "dtype", "object")).lower()


def is_text_or_flag(column: Any) -> bool:
    """Whether a column is not one of numbers, by its kind or dtype."""
    if isinstance(column, Column):
        return column.kind != Kind.NUMBER
    dtype = dtype_of(column)
    if dtype == "object":
        return any(isinstance(cell, str | bool) for cell in entries_of(column))
    return dtype.startswith(("categor", "enum", "str", "utf8", "bool", *DATE_KINDS))


def entries_of(column: Any) -> list[Any]:
    """Entries as Python objects, None where missing."""
    if isinstance(column, Column):
        return column.entries
    cells = column.to_list() if hasattr(column, "to_list") else list(column)
    return [None if is_missing(cell) else cell for cell in cells]


def numbers_of(column: Any, name: str) -> Floats:
    """Entries as floats, NaN where missing; ValueError names the row of one that is not a number."""
    if isinstance(column, Column):
        return column.values
    if dtype_of(column).startswith(("float", "int", "uint")) and isinstance(column.dtype, np.dtype):
        return np.asarray(column, dtype=float)
    cells = entries_of(column)
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in cells], dtype=float)
    except (TypeError, ValueError) as error:
        row = next(i for i, cell in enumerate(cells) if cell is not None and not _is_number(cell))
        raise InputError(f"column {name!r}, row {row}: {cells[row]!r} is not a number") from error


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def rebuilt(X: Any, columns: Sequence[list[Any]]) -> Any:
    """A table like X with other entries: a frame with the same dtypes, or an array."""
    X = X.frame if isinstance(X, Reading) else X
    if hasattr(X, "iloc"):
        made = X.copy()
        for j, cells in enumerate(columns):
            made[made.columns[j]] = type(X.iloc[:, j])(cells, index=X.index, dtype=X.dtypes.iloc[j])
        return made
    if hasattr(X, "get_columns"):
        old = X.get_columns()
        return type(X)([type(one)(one.name, new, dtype=one.dtype) for one, new in zip(old, columns, strict=True)])
    return np.array(columns, dtype=np.asarray(X).dtype).T
