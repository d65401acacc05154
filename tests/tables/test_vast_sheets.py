"""A workbook of a few kilobytes whose only cells are in opposite corners of a sheet."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fusewise.tables import InputError, read_table

openpyxl = pytest.importorskip("openpyxl")


def test_one_cell_in_the_last_corner(tmp_path):
    """It took 13 GB to read."""
    book = openpyxl.Workbook()
    book.active["A1"] = "a"
    book.active["XFD1048576"] = 1
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(InputError, match="2 cells spread over 1,048,576 rows and 16,384 columns, too large"):
        read_table(tmp_path / "t.xlsx")


def test_an_ordinary_sheet_is_read(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 30)), columns=[f"c{j}" for j in range(30)])
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.xlsx").frame, frame)
