"""The rows of the page in the columns of the user's table, with missing values filled in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fusewise.kernels import Mask, Real
from fusewise.observations import Entries, ValueRanges
from fusewise.views.findings import Findings, TableColumn
from fusewise.views.report.packing import packed_numbers, packed_whole


def completed_cells(column: TableColumn, expected: Real, rows: Any) -> Real:
    """Values of some rows, or positions of levels; missing ones are those expected by the model.

    Parameters
    ----------
    column : the column.
    expected : what the model expects of the features of the column in these rows, in the user's units.
    rows : the rows.
    """
    cells: Real = column.values[rows].copy()
    gaps = np.isnan(cells)
    if not gaps.any():
        return cells
    block = expected[gaps]
    if column.kind == "number":
        cells[gaps] = _as_the_column_has_them(column, block[:, :1])
    elif column.kind == "ordered" and block.shape[1] == 1:
        cells[gaps] = np.rint(block[:, 0]).clip(0, len(column.levels) - 1)
    else:
        cells[gaps] = block.argmax(axis=1) if block.shape[1] > 1 else block[:, 0] > 0.5
    return cells


def _as_the_column_has_them(column: TableColumn, values: Real) -> Real:
    """Numbers within the range of the column, on its grid if it has one; else to four digits of its spread."""
    seen = column.seen
    ranges = ValueRanges.of(Entries(column.values[:, None], seen[:, None]))
    if not ranges.step[0]:
        spread = float(np.std(column.values[seen]))
        values = values.round(min(max(3 - math.floor(math.log10(spread)), 0), 300)) if spread > 0 else values
    return np.asarray(ranges.confined(values)[:, 0])


def packed_column(found: Findings, column: TableColumn, expected: Real) -> dict[str, Any]:
    """A column of the drawn rows for the page; `expected` are the features of these rows in the user's units."""
    cells = completed_cells(column, expected[:, slice(*column.features)], found.drawn)
    if column.levels:
        return {"name": column.name, "levels": list(map(str, column.levels)), "values": packed_whole(cells.astype(int))}
    return {"name": column.name, "values": packed_numbers(cells)}


def observed_cells(found: Findings, columns: tuple[TableColumn, ...]) -> Mask:
    """Whether each cell of the drawn rows was observed."""
    return np.column_stack([column.seen[found.drawn] for column in columns])
