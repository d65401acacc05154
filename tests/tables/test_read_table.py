"""``read_table``: each file becomes its frame, in every format and compression; bad files are refused in one line."""

from __future__ import annotations

import bz2
import doctest
import gzip
import io
import json
import lzma
import sqlite3
import sys
import tracemalloc
import zipfile
from functools import partial

import pandas as pd
import pytest
from table_files import FILES, REFUSED, File

import fusewise.tables._reading
from fusewise.tables import InputError, _sources, read_table, stem_of


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


FRAME = pd.DataFrame({"a": [1.5, 2.5, None, 4.0, 5.0], "b": [1, 2, 4, 8, 9], "c": ["p", "q", "p", "q", None]})
TEXT = b"a,b,c\n1.5,1,p\n2.5,2,q\n,4,p\n4,8,q\n5,9,\n"
EXPECTED = {"a": [1.5, 2.5, None, 4, 5], "b": [1, 2, 4, 8, 9], "c": ["p", "q", "p", "q", None]}


def found(path, **options):
    frame = read_table(path, **options).frame
    return {name: [None if pd.isna(value) else value for value in frame[name]] for name in frame}


def zipped(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def zstd(data: bytes) -> bytes:
    pa = pytest.importorskip("pyarrow")
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def written_by(save) -> bytes:
    data = io.BytesIO()
    save(data)
    return data.getvalue()


def json_lines() -> bytes:
    records = [{k: None if pd.isna(v) else v for k, v in row.items()} for row in FRAME.to_dict("records")]
    return "\n".join(map(json.dumps, records)).encode()


def database(tables: int = 1) -> bytes:
    connection = sqlite3.connect(":memory:")
    FRAME.to_sql("rows", connection, index=False)
    for k in range(1, tables):
        connection.execute(f"CREATE TABLE other{k} (x)")
    connection.commit()
    return connection.serialize()


FORMATS = {
    "t.csv.gz": lambda: gzip.compress(TEXT),
    "t.csv.xz": lambda: lzma.compress(TEXT),
    "t.csv.bz2": lambda: bz2.compress(TEXT),
    "t.csv.zst": lambda: zstd(TEXT),
    "t.csv.zip": lambda: zipped({"t.csv": TEXT, "__MACOSX/._t.csv": b"\x00"}),
    "t.tsv.gz": lambda: gzip.compress(TEXT.replace(b",", b"\t")),
    "gzip_without_its_name.csv": lambda: gzip.compress(TEXT),
    "t.parquet": lambda: written_by(FRAME.to_parquet),
    "t.feather": lambda: written_by(FRAME.to_feather),
    "t.xlsx": lambda: written_by(lambda data: FRAME.to_excel(data, index=False)),
    "t.jsonl": json_lines,
    "t.ndjson": json_lines,
    "t.json": lambda: b"[" + b",".join(json_lines().splitlines()) + b"]",
    "t.jsonl.gz": lambda: gzip.compress(json_lines()),
    "t.db": database,
    "t.sqlite3": database,
}


@pytest.mark.parametrize("name", FORMATS)
def test_formats(tmp_path, name):
    (tmp_path / name).write_bytes(FORMATS[name]())
    assert found(tmp_path / name) == EXPECTED


@pytest.mark.parametrize("name", FORMATS)
def test_standard_input(monkeypatch, name):
    if name in ("t.tsv.gz", "t.json"):
        pytest.skip("told by the name alone")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FORMATS[name]())))
    assert found("-") == EXPECTED


def workbook(path, **sheets):
    with pd.ExcelWriter(path) as writer:
        for name, frame in sheets.items():
            frame.to_excel(writer, sheet_name=name, index=False)


def test_sheets(tmp_path):
    path = tmp_path / "t.xlsx"
    other = pd.DataFrame({"z": [1.0, 2.0]})
    workbook(path, data=FRAME, other=other)
    with pytest.raises(InputError, match=r"has 2 sheets \('data', 'other'\): choose one with sheet= \(--sheet\)"):
        read_table(path)
    assert found(path, sheet="data") == EXPECTED
    assert found(path, sheet=2) == found(path, sheet="2") == found(f"{path}::other") == {"z": [1, 2]}
    with pytest.raises(InputError, match=r"'none': .* has no such sheet; its sheets are 'data', 'other'"):
        read_table(path, sheet="none")
    workbook(path, data=FRAME, empty=pd.DataFrame())
    assert found(path) == EXPECTED


def test_tables_of_a_database(tmp_path):
    path = tmp_path / "t.db"
    path.write_bytes(database(2))
    assert found(f"{path}::rows") == EXPECTED
    with pytest.raises(InputError, match=r"has 2 tables \('other1', 'rows'\): name one as FILE::TABLE"):
        read_table(path)
    with pytest.raises(InputError, match="has no table 'lines'"):
        read_table(f"{path}::lines")


def test_files_of_an_archive(tmp_path):
    path = tmp_path / "t.zip"
    path.write_bytes(zipped({"t.csv": TEXT, "more/u.csv": b"x,y\n1,2\n3,5\n"}))
    assert found(f"{path}::t.csv") == EXPECTED
    with pytest.raises(InputError, match=r"contains 2 files \('t.csv', 'more/u.csv'\): name one as ZIP::FILE"):
        read_table(path)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.xz", "t.csv.zst", "t.csv.zip", "t.parquet", "t.xlsx", "t.db"])
def test_damaged_files(tmp_path, name):
    data = FORMATS[name]()
    (tmp_path / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"is not a readable|no rows|has 0 tables"):
        read_table(tmp_path / name)


@pytest.mark.parametrize(("content", "message"), [
    (b'{"a": 1}\n{"a": \n', "line 2: not a JSON object"),
    (b'{"a": 1}\n[1, 2]\n', r"line 2: \[1, 2\] is not a JSON object"),
])  # fmt: skip
def test_bad_json_lines(tmp_path, content, message):
    (tmp_path / "t.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "t.jsonl")


def test_nested_values_are_no_numbers(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"a": 1, "b": [1, 2], "c": {"d": 1}}\n{"a": 2.5, "b": [1], "c": null}\n')
    kinds = {column.name: (column.kind, column.why) for column in read_table(tmp_path / "t.jsonl").columns}
    assert kinds["b"] == ("text", "values of type list, not numbers or text")
    assert kinds["c"] == ("text", "values of type dict, not numbers or text")


def test_old_workbooks_are_named(tmp_path):
    (tmp_path / "t.xls").write_bytes(b"\xd0\xcf\x11\xe0 something")
    with pytest.raises(InputError, match=r"\.xls files cannot be read; save the sheet as \.xlsx or \.csv"):
        read_table(tmp_path / "t.xls")
    (tmp_path / "t.xlsx").write_bytes(b"\xd0\xcf\x11\xe0 something")
    with pytest.raises(InputError, match=r"a workbook with a password, .*: save it as \.xlsx without a password"):
        read_table(tmp_path / "t.xlsx")


def test_types_of_the_file_are_kept(tmp_path):
    """Ordered categories, flags and dates come with the file; text that looks like numbers is read as such."""
    frame = pd.DataFrame({
        "size": pd.Categorical(["b", "s", "s", None], ["s", "m", "b"], ordered=True),
        "wet": pd.array([True, None, False, True], dtype="boolean"),
        "day": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-02", None]),
        "price": ["$1,200", "$3", "4", None],
    })  # fmt: skip
    frame.to_parquet(tmp_path / "t.parquet")
    reading = read_table(tmp_path / "t.parquet", decimal=".")
    assert [str(column.kind) for column in reading.columns] == ["ordered", "flag", "date", "number", "number"]
    assert list(reading.frame["size"].cat.categories) == ["s", "m", "b"]
    assert reading.frame["wet"].dtype == "boolean"
    assert reading.frame["price"].tolist()[:3] == [1200, 3, 4]


@pytest.mark.parametrize(("path", "stem"), [
    ("a/data.csv", "data"), ("data.csv.gz", "data"), ("x.db::rows", "rows"), ("-", "stdin"), ("t.gz", "t"),
])  # fmt: skip
def test_results_are_named_after_the_table(path, stem):
    assert stem_of(path) == stem


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.xz", "t.csv.bz2", "t.csv.zst", "t.csv.zip"])
def test_a_small_file_with_too_much_in_it_is_refused(tmp_path, monkeypatch, name):
    """A hundred times the memory that may be taken; no more than that is decompressed."""
    text = b"a,b\n" + b"1,2\n" * 5_000_000
    pack = {
        "gz": partial(gzip.compress, compresslevel=1),
        "xz": partial(lzma.compress, preset=0),
        "bz2": partial(bz2.compress, compresslevel=1),
        "zst": zstd,
        "zip": lambda text: zipped({"t.csv": text}),
    }[name.rpartition(".")[2]]
    (tmp_path / name).write_bytes(pack(text))
    monkeypatch.setattr(_sources, "available_memory", lambda: 800_000)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="has more than 195 KiB when decompressed: too much for the memory"):
            read_table(tmp_path / name)
        used = tracemalloc.get_traced_memory()[1] - (tmp_path / name).stat().st_size
    finally:
        tracemalloc.stop()
    assert used < len(text) / 2


def test_duplicate_columns_of_a_parquet_file(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table([[1.0, 2.0], [1.0, 3.0], [4.0, 5.0]], names=["a", "b", "a"]), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"duplicate column names: 'a' \('a': columns 1, 3\); rename them"):
        read_table(tmp_path / "t.parquet")


def test_titles_above_the_header_of_a_sheet_and_remarks_below(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    titles, remarks = [["Prices of 2024"], [], ["all in euros", None, None, "v2"]], [[], ["Source: me"]]
    for row in (*titles, ["a", "b", "c"], *FRAME.values.tolist(), *remarks):
        book.active.append([None if cell is not None and pd.isna(cell) else cell for cell in row])
    book.save(tmp_path / "t.xlsx")
    assert found(tmp_path / "t.xlsx") == EXPECTED
    notes = read_table(tmp_path / "t.xlsx").notes
    assert notes == [
        "the rows above the header were left out: 'Prices of 2024', 'all in euros v2'",
        "the rows below the table were left out: 'Source: me'",
    ]
    assert found(tmp_path / "t.xlsx", skip_rows=3) == EXPECTED


LABELS = {
    "size": {1: "small", 2: "mid", 3: "big"}, "sex": {1: "m", 2: "f"}, "age": {99: "refused"},
    "pain": {1: "none", 3: "bad"},
}  # fmt: skip
MEASURES = {"size": "ordinal", "sex": "nominal"}
STATISTICS = {
    "t.sav": ("write_sav", {"variable_value_labels": LABELS, "variable_measure": MEASURES}),
    "t.zsav": ("write_sav", {"variable_value_labels": LABELS, "variable_measure": MEASURES, "compress": True}),
    "t.dta": ("write_dta", {"variable_value_labels": LABELS}),
    "t.xpt": ("write_xport", {}),
    "t.por": ("write_por", {}),
}


@pytest.mark.parametrize("name", STATISTICS)
def test_files_of_statistical_packages(tmp_path, name):
    """With value labels where all values have one; 99 alone is labelled in `age`, which stays a number, and said."""
    pyreadstat = pytest.importorskip("pyreadstat")
    write, options = STATISTICS[name]
    frame = pd.DataFrame(
        {"age": [31.0, 99.0, None, 28.5], "size": [1.0, 3, 2, 1], "sex": [1.0, 2, 2, 1], "pain": [1.0, 2, 3, 2]}
    )
    getattr(pyreadstat, write)(frame, tmp_path / name, **options)
    reading = read_table(tmp_path / name)
    columns = {column.name.lower(): column for column in reading.columns}
    assert (columns["age"].kind, columns["sex"].kind) == ("number", "flag")
    assert columns["age"].entries == [31, 99, None, 28.5]
    said = [note for note in reading.notes if "is labelled" in note]
    assert len(said) == bool(options)
    assert all("99 is labelled 'refused'" in note and "(--missing age=99)" in note for note in said)
    assert columns["sex"].entries == (["m", "f", "f", "m"] if options else [1, 2, 2, 1])
    if "variable_measure" in options:
        assert (columns["size"].kind, columns["size"].categories) == ("ordered", ("small", "mid", "big"))
    sizes = next(cells for column, cells in reading.cells.items() if column.lower() == "size")
    assert sizes.tolist() == (["small", "big", "mid", "small"] if options else [1, 3, 2, 1])


def test_one_cell_in_the_last_corner(tmp_path):
    """It took 13 GB to read as a whole; the empty rows and columns between are left out."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active["A1"] = "a"
    book.active["XFD1048576"] = 1
    book.save(tmp_path / "t.xlsx")
    assert [cells.tolist() for cells in read_table(tmp_path / "t.xlsx").written.values()] == [[None], [1]]


def test_a_sheet_with_stray_cells_far_apart_is_refused(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in range(1, 1301):
        book.active.cell(row, 16_384, "x")
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(InputError, match="spread over too large an area to read: delete stray cells"):
        read_table(tmp_path / "t.xlsx")
