"""Kinds of files and dialects: the same numbers, however they are written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_helpers import read, write

from fusewise.tables import FrameEncoder, InputError, read_table


def values(path: Path) -> np.ndarray:
    return np.column_stack([column.values for column in read_table(path).used])


@pytest.mark.parametrize(("name", "separator"), [("t.csv", ","), ("t.csv", ";"), ("t.tsv", "\t"), ("t.txt", "\t")])
def test_separators(tmp_path, numbers, name, separator):
    np.testing.assert_array_equal(values(write(tmp_path / name, "abcd", numbers[0], separator)), numbers[0])


def test_decimal_commas_are_read_and_written(run, tmp_path, numbers):
    rows = [["" if v != v else str(v).replace(".", ",") for v in row] for row in numbers[0]]
    path = write(tmp_path / "t.csv", "abcd", rows, ";")
    np.testing.assert_array_equal(values(path), numbers[0])
    assert run("fit", path, "--out", "out").code == 0
    after = read(Path("out/completed.csv"), ";")
    assert not any("." in cell for cells in after.values() for cell in cells)
    assert np.isfinite(values(Path("out/completed.csv"))).all()


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_missing_values_are_filled_with_the_decimals_of_the_table(run, tmp_path, numbers, separator, decimal):
    rows = [["" if v != v else str(v).replace(".", decimal) for v in row] for row in numbers[0]]
    path = write(tmp_path / "t.txt", "abcd", rows, separator)
    np.testing.assert_array_equal(values(path), numbers[0])
    assert run("fit", path, "--out", "out").code == 0
    completed = read(Path("out/completed.csv"), "," if separator + decimal == "\t." else ";")
    other = {".": ",", ",": "."}[decimal]
    assert not any(other in cell for cells in completed.values() for cell in cells)
    np.testing.assert_array_equal(np.isfinite(values(Path("out/completed.csv"))), True)


@pytest.mark.parametrize("marker", ["", "NA", "nan", "NaN", "NULL", "null", "None", "?", "-", "n/a", "N/A", " na "])
def test_missing_markers(tmp_path, marker):
    path = tmp_path / "t.csv"
    path.write_text(f"a,b\n1,2\n{marker},3.5\n-4,5\n")
    np.testing.assert_array_equal(values(path), [[1, 2], [np.nan, 3.5], [-4, 5]])


@pytest.mark.parametrize(("suffix", "save"), [
    (".parquet", lambda frame, path: frame.to_parquet(path)),
    (".feather", lambda frame, path: frame.to_feather(path)),
    (".arrow", lambda frame, path: frame.to_feather(path)),
    (".xlsx", lambda frame, path: frame.to_excel(path, index=False)),
])  # fmt: skip
def test_binary_kinds(run, tmp_path, numbers, suffix, save):
    if suffix == ".xlsx":
        pytest.importorskip("openpyxl")
    frame = pd.DataFrame(numbers[0], columns=list("abcd"))
    frame["wet"] = pd.array([None if i % 5 == 0 else bool(k) for i, k in enumerate(numbers[1])], dtype="boolean")
    frame["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(frame)), unit="D")
    path = tmp_path / f"t{suffix}"
    save(frame, path)
    np.testing.assert_array_equal(values(path)[:, :4], numbers[0])
    ran = run("fit", path, "--out", "out", "--json")
    assert ran.json["columns"]["encoded"][0]["kind"] == "flag"
    assert ran.json["columns"]["unused"][0]["reason"].startswith("dates")
    assert set(read(Path("out/completed.csv"))["wet"]) == {"True", "False"}


@pytest.mark.parametrize("cells", [[True] * 4, [True, None, True, True], ["yes", None, "yes", "yes"]])
def test_a_flag_that_never_changes_is_constant(tmp_path, cells):
    pd.DataFrame({"x": [1.0, 2, 3, 5], "flag": cells}).to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").columns[1].why.startswith("constant: ")


def test_an_index_with_meaning_names_the_rows(tmp_path, numbers):
    names = [f"r{i}" for i in range(len(numbers[0]))]
    pd.DataFrame(numbers[0], columns=list("abcd"), index=names).to_parquet(tmp_path / "t.parquet")
    assert list(read_table(tmp_path / "t.parquet").names) == names


def test_other_headers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\nx1,1,2\nx2,3,4\n")  # as R's write.table does
    assert list(read_table(path).names) == ["x1", "x2"]
    assert "the first column is taken as row names" in read_table(path).notes[0]
    path.write_text("a,b\n1,2,\n3,4,\n")  # a separator at the end of each row
    assert {name: list(cells) for name, cells in read_table(path).cells.items()} == {"a": ["1", "3"], "b": ["2", "4"]}
    path.write_text("sep=;\na;b\n1,5;2\n3;4\n")  # as for Excel
    np.testing.assert_array_equal(values(path), [[1.5, 2], [3, 4]])
    path.write_text("sep=;\na;b\n1,5;2\n3\n")
    with pytest.raises(InputError, match="line 4: 1 field, but the header has 2"):
        read_table(path)
    path.write_text("1.5,2\n3,4\n")
    table = read_table(path)
    assert list(table.cells) == ["column1", "column2"]
    assert table.n_rows == 2
    assert "no header" in table.notes[0]
    path.write_bytes("\ufeffgrößer,b\n1,2\n3,4\n".encode())
    assert list(read_table(path).cells) == ["größer", "b"]
    path.write_bytes("größer,b\n1,2\n3,4\n".encode("latin-1"))
    assert list(read_table(path).cells) == ["größer", "b"]
    assert read_table(path).notes[0].startswith("not UTF-8 (byte 3): read as Windows-1252")
    path.write_bytes("größer,b\n1,2\n3,4\n".encode("utf-16"))
    assert list(read_table(path).cells) == ["größer", "b"]


def test_one_missing_category_is_a_missing_block_of_variance_one(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,colour\n1,red\n2,green\n3,\n4,blue\n5,red\n6,green\n7,blue\n")
    table = read_table(path)
    encoder = FrameEncoder.of(table).by_distance(table, standardize=True)
    assert encoder.features == ("x", "colour=blue", "colour=green", "colour=red")
    matrix = encoder.encode(table)
    block = matrix[:, 1:]
    assert np.isnan(block[2]).all()
    assert not np.isnan(np.delete(block, 2, axis=0)).any()
    np.testing.assert_allclose(np.nanvar(block, axis=0).sum(), 1)
    np.testing.assert_allclose(np.nanmean(matrix, axis=0), 0, atol=1e-12)
    x, colour = (code.decode(part) for code, part in encoder.by_column(matrix))
    np.testing.assert_allclose(x[:, 0], range(1, 8))
    np.testing.assert_allclose(colour[0], [0, 0, 1], atol=1e-12)
