"""``read_table``: each file becomes its frame, with the kind of every column; bad files are refused in one line."""

from __future__ import annotations

import doctest

import pandas as pd
import pytest
from table_files import FILES, REFUSED, File

import fusewise.tables._reading
from fusewise.tables import InputError, read_table


def kind_of(values) -> str:
    seen = {value for value in values if value is not None}
    if all(isinstance(value, str) for value in seen):
        return "flag" if len(seen) == 2 else "category"
    return "flag" if all(isinstance(value, bool) for value in seen) else "number"


def dtype_of(kind: str, values) -> str:
    bools = all(isinstance(value, bool) for value in values if value is not None)
    return {"number": "float64", "flag": "boolean" if bools else "category"}.get(kind, "category")


def plain(series) -> list:
    return [None if pd.isna(value) else value for value in series]


@pytest.mark.parametrize("name", FILES)
def test_a_file_becomes_its_frame(tmp_path, name):
    file: File = FILES[name]
    path = tmp_path / file.name
    path.write_bytes(file.content if isinstance(file.content, bytes) else file.content.encode())
    reading = read_table(path, **file.options)
    kinds = {column: kind_of(values) for column, values in file.frame.items()} | file.other | file.kinds
    assert {column.name: column.kind for column in reading.columns} == kinds
    assert [column.name for column in reading.used] == list(file.frame)
    assert all(column.why for column in reading.columns)
    assert {column: plain(reading.frame[column]) for column in reading.frame} == file.frame
    for column, values in file.frame.items():
        assert str(reading.frame[column].dtype) == dtype_of(kinds[column], values)
        assert getattr(reading.frame[column].dtype, "ordered", False) == (kinds[column] == "ordered")
    if file.note is not None:
        assert any(file.note in note for note in reading.notes) if file.note else reading.notes == []


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_file_is_refused_in_one_line(tmp_path, name):
    content, options, words = REFUSED[name]
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(InputError) as error:
        read_table(path, **options)
    assert isinstance(error.value, ValueError)
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_a_table_without_a_usable_column_says_why_in_one_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\nx,p\nx,q\nx,r\n")
    with pytest.raises(
        InputError, match=r"^no column of .*: 'a' \(constant: .*\), 'b' \(specified as an identifier\)$"
    ) as error:
        _ = read_table(path, kinds={"b": "identifier"}).used
    assert "\n" not in str(error.value)


def test_ordered_levels_are_in_the_order_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,size\n1,mid\n2,low\n3,high\n4,low\n")
    column = read_table(path, kinds={"size": ["low", "mid", "high"]}).frame["size"]
    assert list(column.cat.categories) == ["low", "mid", "high"]
    assert (column < "high").tolist() == [True, True, False, True]


def test_missing_values_are_counted_by_column_and_marker(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,?\nNA,2\n,3\n4,5\nNA,6\n")
    whys = {column.name: column.why for column in read_table(path).columns}
    assert whys["x"].endswith("3 missing ('NA', empty)")
    assert whys["y"].endswith("1 missing ('?')")


def test_cells_are_kept_as_written(tmp_path):
    rows = [["1.50", " 2 ", "(3)", "+4", "5e0", ""], ["10 %", "11%", " 12 %", "?", "14.0%", "15%"]]
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(*rows, strict=True)))
    reading = read_table(path)
    assert [list(cells) for cells in reading.written.values()] == rows
    assert plain(reading.frame["x"]) == [1.5, 2, -3, 4, 5, None]


def test_docstring_examples():
    result = doctest.testmod(fusewise.tables._reading)
    assert result.attempted > 0
    assert result.failed == 0
