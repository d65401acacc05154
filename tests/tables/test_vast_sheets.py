"""A workbook of a few kilobytes whose only cells are in opposite corners of a sheet."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fusewise.tables import InputError, read_table

openpyxl = pytest.importorskip("openpyxl")


def test_one_cell_in_the_last_corner(tmp_path):
    """It took 13 GB to read as a whole; the empty rows and columns between are left out."""
    book = openpyxl.Workbook()
    book.active["A1"] = "a"
    book.active["XFD1048576"] = 1
    book.save(tmp_path / "t.xlsx")
    assert [cells.tolist() for cells in read_table(tmp_path / "t.xlsx").written.values()] == [[None], [1]]


def test_far_cells_in_many_rows_are_refused(tmp_path):
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    for row in range(1300):
        cell = openpyxl.cell.WriteOnlyCell(sheet, value=row)
        sheet.append([*[None] * 16_383, cell])
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(InputError, match="cells spread over too large an area to read: delete stray cells"):
        read_table(tmp_path / "t.xlsx")


def test_an_ordinary_sheet_is_read(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 30)), columns=[f"c{j}" for j in range(30)])
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.xlsx").frame, frame)
