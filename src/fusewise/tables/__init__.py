"""Tables: reading files, detecting the kind of each column, and encoding columns as numbers and back."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fusewise.tables.column_codes import ColumnCode
    from fusewise.tables.column_kinds import Column, Kind
    from fusewise.tables.encoder import FrameEncoder
    from fusewise.tables.errors import InputError
    from fusewise.tables.read_result import Reading
    from fusewise.tables.reading import read_table

# Imported when first used, so that the help of the command line does not have to load numpy.
_HOMES = {
    "Column": "fusewise.tables.column_kinds",
    "ColumnCode": "fusewise.tables.column_codes",
    "FrameEncoder": "fusewise.tables.encoder",
    "InputError": "fusewise.tables.errors",
    "Kind": "fusewise.tables.column_kinds",
    "Reading": "fusewise.tables.read_result",
    "read_table": "fusewise.tables.reading",
}

__all__ = ["Column", "ColumnCode", "FrameEncoder", "InputError", "Kind", "Reading", "read_table"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
