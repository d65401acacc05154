"""How the table is read, from the command line: the options, the listing, cells handed back, bad cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli_helpers import CENTERS, STEADY, read, write
from typer.testing import CliRunner

from fusewise.cli._app import app
from fusewise.tables import read_table


def columns(ran) -> dict[str, tuple[str, bool]]:
    assert ran.code == 0, ran.err
    return {column["name"]: (column["kind"], column["used"]) for column in ran.json["columns"]["all"]}


@pytest.fixture
def wide(tmp_path, numbers):
    """The clusters, with a rank, a code and a bound beside them."""
    X, y = np.where(np.isnan(numbers[0]), CENTERS[numbers[1]], numbers[0]), numbers[1]
    rows = [[*row, ["low", "mid", "high"][k], 1 + k, i % 7] for i, (row, k) in enumerate(zip(X, y, strict=True))]
    rows[4][-1] = -99
    return write(tmp_path / "t.csv", [*"abcd", "rank", "code", "e"], rows)


def test_kinds_can_be_corrected(run, wide):
    found = columns(run("fit", wide, *STEADY, "--json", "--out", "one"))
    assert found["rank"] == ("category", True)
    assert found["code"] == ("category", True)
    options = ["--ordered", "rank:low<mid<high", "--category", "code", "--drop", "d", "--missing", "-99"]
    ran = run("fit", wide, *STEADY, "--json", "--out", "two", *options)
    found = columns(ran)
    assert (found["rank"], found["code"], found["d"]) == (("ordered", True), ("category", True), ("number", False))
    assert ran.json["columns"]["encoded"][0]["categories"] == ["low", "mid", "high"]
    why = {column["name"]: column["why"] for column in ran.json["columns"]["all"]}["e"]
    assert why == "0 to 6; 1 missing ('-99'); 7 whole values: ordered levels"
    assert read(Path("two/completed.csv"))["e"][4] != "-99"
    centers = read(Path("two/centers.csv"))
    assert {"rank=low", "rank=mid", "rank=high"} <= set(centers)


@pytest.mark.parametrize(
    "given", [["--columns", "a,b,rank"], ["--columns", "a", "--columns", "b", "--columns", "rank"]]
)
def test_only_some_columns(run, wide, given):
    found = columns(run("fit", wide, "--json", *given))
    assert [name for name, (_, used) in found.items() if used] == ["a", "b", "rank"]


@pytest.mark.parametrize(("options", "message"), [
    (["--ordered", "low<high"], "--ordered 'low<high': expected a column, a colon and its levels: COLUMN:LOW<MID<HIGH"),
    (["--ordered", "r*"], "column 'rank' is ordered, but the order of its values is not given (high, low, mid)"),
    (["--category", "z*"], "the table has no column 'z*'"),
    (["--missing", "ages=99"], "missing (--missing): the table has no column 'ages'"),
    (["--ordered", "rank:low<high"], "'mid' is not one of the given values (low < high)"),
    (["--number", "rank"], "column 'rank', row 1: 'low' is not a number"),
    (["--number", "rnk"], "the table has no column 'rnk' (did you mean 'rank'?)"),
    (["--columns", "a,z"], "--columns: the table has no column 'z'"),
    (["--decimal", "x"], "--decimal) must be '.' or ','"),
    (["--sep", "ab"], "--sep) 'ab': expected one character"),
    (["--sheet", "x"], "--sheet) 'x'"),
    (["--drop", "bb"], "--drop: the table has no column 'bb'"),
    (["--labels", "klass"], "--labels: the table has no column 'klass'; it has a, b"),
    (["--names", "nobody"], "--names: the table has no column 'nobody'"),
    (["--drop", "*"], "no column of"),
    (["--n-clusters", "50"], "--n-clusters 50 is more than the 36 rows"),
])  # fmt: skip
@pytest.mark.parametrize("command", ["fit", "impute", "path"])
def test_options_that_do_not_fit_the_table(run, tmp_path, wide, command, options, message):
    ran = run(command, wide, *options)
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_observed_cells_come_back_exactly_as_written(run, tmp_path, numbers):
    y = numbers[1]
    rng = np.random.default_rng(0)
    price = [f"${1000 * (k + 1) + rng.integers(90):,}.50" for k in y]
    weight = [f"{10 * (k + 1) + rng.integers(3)} kg" for k in y]
    share = [f" {10 * (k + 1) + rng.integers(3)}.0 %" for k in y]
    for cells, marker, row in ((price, "unknown", 3), (weight, "n/a", 5), (share, "", 7)):
        cells[row] = marker
    write(tmp_path / "t.csv", ["price", "weight", "share"], zip(price, weight, share, strict=True))
    ran = run("impute", "t.csv", "--json")
    assert ran.json["filled"] == 3
    after = read(Path("t_completed.csv"))
    for name, before, row in (("price", price, 3), ("weight", weight, 5), ("share", share, 7)):
        assert [cell for k, cell in enumerate(after[name]) if k != row] == [c for k, c in enumerate(before) if k != row]
    assert after["price"][3].startswith("$1")  # filled as the column is written
    assert after["weight"][5].endswith(" kg")
    assert after["share"][7].endswith(" %")
    assert any("1 cell is not a number" in note and "'unknown' (1)" in note for note in ran.json["notes"])


@pytest.fixture
def model(run, wide):
    assert run("fit", wide, "--save", "m.fusewise", "--out", "out", "--ordered", "rank:low<mid<high", *STEADY).code == 0
    return read(Path("out/labels.csv"))["label"]


def test_a_bad_cell_is_named_or_taken_as_missing(run, wide, model):
    lines = wide.read_text().splitlines()
    lines[6] = "about 12," + lines[6].partition(",")[2]
    Path("new.csv").write_text("\n".join(lines))
    ran = run("predict", "m.fusewise", "new.csv")
    assert ran.code == 2
    assert "column 'a', row 6: 'about 12' is not a number; correct it, or use --on-error missing" in ran.err
    assert not Path("new_labels.csv").exists()
    ran = run("predict", "m.fusewise", "new.csv", "--on-error", "missing", "--json")
    assert ran.code == 0, ran.err
    assert any("'about 12' (1); the first is in row 6" in note for note in ran.json["notes"])
    assert read(Path("new_labels.csv"))["label"] == model


def test_numbers_in_another_unit_are_refused(run, tmp_path, numbers):
    y = numbers[1]
    shares = [f"{10 * (k + 1) + i % 3}%" for i, k in enumerate(y)]
    weights = [f"{10 * (k + 1) + i % 4} kg" for i, k in enumerate(y)]
    path = write(tmp_path / "t.csv", ["share", "weight"], zip(shares, weights, strict=True))
    assert run("fit", path, "--save", "m.fusewise", *STEADY).code == 0
    text = path.read_text()
    for old, new, message in (
        ("%", "", "column 'share' contains numbers without a unit, but contained numbers in % when"),
        ("kg", "g", "column 'weight' contains numbers in g, but contained numbers in kg when"),
    ):
        Path("new.csv").write_text(text.replace(old, new))
        ran = run("predict", "m.fusewise", "new.csv")
        assert ran.code == 2
        assert message in ran.err
    Path("new.csv").write_text(text.replace(" kg", ""))
    assert run("predict", "m.fusewise", "new.csv").code == 0


def test_standard_input(tmp_path, monkeypatch, table):
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(app, ["fit", "-", "--quiet", *STEADY], input=table.read_bytes())
    assert ran.exit_code == 0, ran.stderr
    assert len(read(Path("stdin_fusewise/labels.csv"))["label"]) == 36


def values(path: Path) -> np.ndarray:
    return np.column_stack([column.values for column in read_table(path).used])


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
