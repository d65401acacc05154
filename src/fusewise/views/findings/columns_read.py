"""The columns of a table and how each was read, with those that were left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fusewise.kernels.words import counted, some_of
from fusewise.tables import Reading
from fusewise.views.findings.table_columns import TableColumn

#: Maximum number of levels named in the description of a column.
NAMED_LEVELS = 6


@dataclass(frozen=True)
class ColumnRead:
    """One column and how it was read.

    Attributes
    ----------
    name, kind : its name, and its kind ("number", "category", "date", ...).
    role : "feature" if it was used for clustering, "names" or "labels" if it names or labels the rows, else "left out".
    why : how it was read, or why it was left out.
    missing : share of its values that are missing.
    markers : words that were counted as missing -> how often; "" is an empty cell.
    """

    name: str
    kind: str
    role: str
    why: str
    missing: float
    markers: dict[str, int]

    @property
    def used(self) -> bool:
        """Whether it was used for clustering."""
        return self.role == "feature"

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self) | {"used": self.used}


@dataclass(frozen=True)
class ColumnsRead:
    """Every column of a table.

    Attributes
    ----------
    columns : in the order of the table.
    n_rows : number of rows.
    notes : assumptions made while reading the table, and suspicious values.
    """

    columns: tuple[ColumnRead, ...]
    n_rows: int
    notes: tuple[str, ...] = ()

    @property
    def left_out(self) -> list[ColumnRead]:
        """Columns that were neither used for clustering nor as names or labels of the rows."""
        return [column for column in self.columns if column.role == "left out"]

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        columns = [column.as_dict() for column in self.columns]
        return {"columns": columns, "n_rows": self.n_rows, "notes": list(self.notes)}


def columns_of_reading(reading: Reading) -> ColumnsRead:
    """The columns of a file."""
    columns = []
    for column in reading.columns:
        written, cells = reading.written[column.name], reading.cells[column.name]
        role = "names" if column.name == reading.names_column else "labels"
        if column.name not in (reading.names_column, reading.labels_column):
            role = "feature" if column.used else "left out"
        gone = np.array([cell is None for cell in cells])
        if column.used:
            gone = np.isnan(column.values)
        markers = Counter(_word(written[row]) for row in np.flatnonzero(gone))
        share = float(gone.mean()) if len(gone) else 0.0
        columns.append(ColumnRead(column.name, str(column.kind), role, column.why, share, dict(markers.most_common())))
    return ColumnsRead(tuple(columns), reading.n_rows, tuple(reading.notes))


def columns_in_memory(columns: Sequence[TableColumn]) -> ColumnsRead:
    """The columns of a frame or an array, all of which were used."""
    n_rows = len(columns[0].values) if columns else 0
    return ColumnsRead(tuple(_in_memory(column) for column in columns), n_rows)


def _in_memory(column: TableColumn) -> ColumnRead:
    seen = column.values[column.seen]
    gone = len(column.values) - len(seen)
    if not len(seen):
        why = "all values are missing"
    elif column.levels:
        why = f"{counted(len(column.levels), 'value')}: {some_of(column.levels, NAMED_LEVELS)}"
    else:
        why = f"{seen.min():g} to {seen.max():g}"
    why += f"; {gone:,} missing" if gone and len(seen) else ""
    return ColumnRead(column.name, column.kind, "feature", why, gone / max(len(column.values), 1), {})


def _word(cell: Any) -> str:
    """A cell that was counted as missing, as it is written; "" if it is empty."""
    return "" if cell is None or (isinstance(cell, float) and np.isnan(cell)) else str(cell)
