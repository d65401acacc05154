"""Files with values that are known in part: below a limit, in a range, with an error; and cells that only look so."""

from __future__ import annotations

import csv
import json
import os

import numpy as np
import pytest

from fusewise.tables import read_table

INF = np.inf
PLAIN = ["1.5", "2.25", "4", "8"]


def entry(cell, lower=-INF, upper=INF, error=0.0, value=np.nan):
    return cell, (value, lower, upper, error)


#: Cells among the numbers of PLAIN, what is known of each, and how the column is described; then options of read_table.
HALF_KNOWN = {
    "a detection limit": ([entry("<0.05", upper=0.05), entry("< 0.05", upper=0.05)], "1.5 to 8; 2 below 0.05"),
    "several limits": ([entry("<0.05", upper=0.05), entry("<0.1", upper=0.1), entry("≤0.1", upper=0.1)],
                       "2 below 0.1, 1 below 0.05"),
    "most are below": ([entry("<1", upper=1.0)] * 16, "16 below 1"),
    "in words": ([entry("below 0.5", upper=0.5), entry("more than 20", lower=20), entry("Less than .5", upper=0.5)],
                 "2 below 0.5, 1 above 20"),
    "beyond the scale": ([entry(">200", lower=200), entry("≥ 200", lower=200), entry("200+", lower=200)],
                         "3 above 200"),
    "open classes": ([entry("90 and over", lower=90), entry("1 or less", upper=1)], "1 above 90, 1 below 1"),
    "thousands": ([entry("<1,000", upper=1000), entry("> 2,000", lower=2000)], "1 below 1000, 1 above 2000"),
    "ranges": ([entry("10-20", 10, 20), entry("10 to 20", 10, 20), entry("10\u2013 20", 10, 20)],
               "3 in a range such as '10-20'"),
    "negative ranges": ([entry("-5--3", -5, -3), entry("-5 to -3", -5, -3)], "2 in a range"),
    "powers of ten": ([entry("1e-5-1e-4", 1e-5, 1e-4), entry("<1e-6", upper=1e-6)], "1 in a range"),
    "errors": ([entry(text, error=0.2, value=5.1) for text in ("5.1 ± 0.2", "5.1±0.2", "5.1 +/- 0.2", "5.1 (0.2)")],
               "4 with an error such as '5.1 ± 0.2'"),
    "a limit that nobody says": ([entry("< LOD"), entry("BDL"), entry("n.d.")],
                                 "3 below a limit such as '< LOD'"),
    "a limit that the user says": ([entry("<LOD", upper=0.3), entry("nd", upper=0.3), entry("")],
                                   "the limit is 0.3", {"below": {"y": 0.3}}),
    "missing because small": ([entry("", upper=0.3), entry("<0.1", upper=0.1), entry("?", upper=0.3)],
                              "missing ones are below 0.3", {"below": {"y": 0.3}}),
    "below the smallest": ([entry("", upper=1.5)], "missing ones are below 1.5", {"below": {"?": None}}),
    "told to be a number": ([entry("1-2", 1, 2), entry("3-5", 3, 5), entry("6+", lower=6)] * 5, "5 above 6",
                            {"kinds": {"y": "number"}}),
}  # fmt: skip


def written(path, cells, name="y", separator=","):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=separator).writerows([["x", name], *((k + 0.25, c) for k, c in enumerate(cells))])
    return path


@pytest.mark.parametrize("case", HALF_KNOWN)
def test_cells_are_read_as_what_they_say(tmp_path, case):
    entries, why, *options = HALF_KNOWN[case]
    cells = [cell for cell, _ in entries]
    reading = read_table(written(tmp_path / "t.csv", PLAIN + cells), **(options[0] if options else {}))
    column = reading.columns[1]
    assert (column.kind, column.used) == ("number", True)
    assert why in column.why
    known = np.array([values for _, values in entries])
    assert reading.frame["y"].tolist()[:4] == [1.5, 2.25, 4, 8]
    np.testing.assert_array_equal(reading.frame["y"][4:], known[:, 0])
    arrays = {"lower": known[:, 1], "upper": known[:, 2], "error": known[:, 3]}
    for name, expected in arrays.items():
        array = getattr(reading, name)
        nothing = np.isinf(known[:, 1:3]).all() if name != "error" else not expected.any()
        assert (array is None) == nothing
        if array is not None:
            assert array.shape == reading.shape
            np.testing.assert_array_equal(array[4:, 1], expected)
            assert np.isinf(array[:4]).all() or name == "error"
    assert reading.written["y"][4:].tolist() == cells


def test_a_table_without_such_cells_has_no_arrays(tmp_path):
    reading = read_table(written(tmp_path / "t.csv", PLAIN))
    assert (reading.error, reading.lower, reading.upper) == (None, None, None)


def test_decimal_commas_and_units(tmp_path):
    cells = ["1,5 mg/l", "2,25 mg/l", "4 mg/l", "<0,05 mg/l", "0,5-1,5 mg/l", "5,1 ± 0,2 mg/l"]
    path = tmp_path / "t.csv"
    path.write_text("x;y\n" + "".join(f"{k};{cell}\n" for k, cell in enumerate(cells)), encoding="utf-8")
    reading = read_table(path)
    assert reading.columns[1].affix == ("", " mg/l")
    np.testing.assert_array_equal(reading.frame["y"], [1.5, 2.25, 4, np.nan, np.nan, 5.1])
    assert (reading.upper[3, 1], reading.lower[4, 1], reading.upper[4, 1], reading.error[5, 1]) == (0.05, 0.5, 1.5, 0.2)


def test_prices(tmp_path):
    reading = read_table(written(tmp_path / "t.csv", ["$5", "$7.50", "$9", "$10-$20", "<$5"]))
    assert reading.columns[1].affix == ("$", "")
    assert reading.upper[3:, 1].tolist() == [20, 5]


def test_a_limit_that_nobody_says_is_asked_for(tmp_path):
    reading = read_table(written(tmp_path / "t.csv", [*PLAIN, "<LOD", "<LOD"]))
    assert [note for note in reading.notes if "2 values are below a limit" in note and "--below 'y=0.05'" in note]
    assert read_table(tmp_path / "t.csv", below={"y": 0.05}).notes == []


#: Columns that are none of measurements, though their cells look like bounds or ranges, and what they are.
NAMES_OF_GROUPS = {
    "school years": (["2010-2011", "2011-2012", "2012-2013"] * 8, "category"),
    "years and school years": (["2010", "2011", "2012", *["2010-2011", "2011-2012", "2012-2013"] * 5], "category"),
    "ages in bands": (["<18", "18-34", "35-64", "65+"] * 6, "category"),
    "months": (["2020-01", "2020-02", "2021-07"] * 8, "date"),
    "telephone numbers": (["555-1234", "555-9876", "555-1234", "555-4321"], "text"),
    "results of matches": (["3-1", "0-2", "1-1"] * 8, "category"),
    "counts and percentages": (["12 (5%)", "40 (16%)", "7 (3%)", "9 (4%)", "12 (5%)"], "text"),
    "states": (["ND", "NY", "ND", "SD"] * 6, "category"),
    "codes": (["12-B", "14-C", "12-B", "9-A", "9-A", "12-B"] * 4, "category"),
    "parts of cells": (["1 ±", "± 2", "<", "> x", "-", "3 (", "1 to", "<1e999", "4 ± inf"] * 3, "category"),
    "parts": (["1-2-3", "1-2-4", "1-2-3", "1-3-1"] * 6, "category"),
}


@pytest.mark.parametrize("case", NAMES_OF_GROUPS)
def test_names_of_groups_are_not_numbers(tmp_path, case):
    cells, kind = NAMES_OF_GROUPS[case]
    reading = read_table(written(tmp_path / "t.csv", cells))
    assert reading.columns[1].kind == kind
    assert reading.upper is None


#: Arguments of the command for a table of a number `iron` and a category `kind`, and words of the line that it says.
BAD = {
    "a category below a limit": (["--below", "kind=3"], "column 'kind' is read as category; only numbers have a limit"),
    "a limit in words": (["--below", "iron=low"], "--below 'iron=low': expected a column, '=' and a number"),
    "no such column": (["--below", "irn=0.1"], "no column 'irn' (did you mean 'iron'?)"),
}


@pytest.fixture
def laboratory(tmp_path, monkeypatch):
    """Two groups of samples, with iron below 0.05 in some, and zinc missing where it is small."""
    rng = np.random.default_rng(0)
    amounts = np.exp(rng.normal([-3, 1], 0.6, (60, 2)).T.ravel()[:, None] + rng.normal(0, 0.2, (120, 2)))
    monkeypatch.chdir(tmp_path)
    lines = [
        [f"{iron:.3f}" if iron >= 0.05 else "<0.05", f"{zinc:.2f}" if zinc >= 0.04 else "", "pqr"[k // 40]]
        for k, (iron, zinc) in enumerate(amounts)
    ]
    with open("t.csv", "w", newline="") as file:
        csv.writer(file).writerows([["iron", "zinc", "kind"], *lines])
    return lines


def command(*arguments):
    testing = pytest.importorskip("typer.testing")
    from fusewise.cli._app import app

    return testing.CliRunner().invoke(app, [*arguments])


@pytest.mark.parametrize("case", BAD)
def test_a_limit_that_cannot_be_is_refused_in_one_line(laboratory, case):
    arguments, said = BAD[case]
    ran = command("fit", "t.csv", *arguments)
    assert (ran.exit_code, len(ran.stderr.splitlines()), os.listdir()) == (2, 1, ["t.csv"])
    assert said in ran.stderr


def test_half_known_cells_are_listed_and_come_back_as_they_were(laboratory):
    few = ["--n-clusters", "2", "--below", "zinc=0.04"]
    ran = command("fit", "t.csv", *few, "--no-stability", "--out", "r", "--save", "m.fusewise")
    assert ran.exit_code == 0, ran.stderr
    n_below = sum(iron == "<0.05" for iron, _, _ in laboratory)
    assert f"{n_below} below 0.05" in ran.stdout
    assert "missing ones are below 0.04" in " ".join(ran.stdout.split())
    with open("r/completed.csv", newline="") as file:
        completed = list(csv.reader(file))[1:]
    assert [row[0] for row in completed] == [row[0] for row in laboratory]
    filled = [float(new[1]) for new, old in zip(completed, laboratory, strict=True) if not old[1]]
    assert filled
    assert max(filled) <= 0.04
    ran = command("predict", "m.fusewise", "t.csv", "--out", "p.csv")
    assert ran.exit_code == 0, ran.stderr
    with open("p.csv", newline="") as one, open("r/labels.csv", newline="") as other:
        assert [row["label"] for row in csv.DictReader(one)] == [row["label"] for row in csv.DictReader(other)]
    assert read_table("t.csv", below={"zinc": 0.04}).upper[:, 1].min() == 0.04


def test_only_cells_that_say_nothing_are_filled(laboratory):
    ran = command("impute", "t.csv", "--out", "f.csv", "--n-clusters", "2", "--json")
    assert ran.exit_code == 0, ran.stderr
    with open("f.csv", newline="") as file:
        filled = list(csv.reader(file))[1:]
    changed = sum(new != old for new, old in zip(filled, laboratory, strict=True))
    assert json.loads(ran.stdout)["filled"] == changed == sum(not zinc for _, zinc, _ in laboratory)


def test_a_limit_of_values_below_it_is_none_of_missing_ones(laboratory):
    """Not in a new file that has no <LOD either."""
    with open("t.csv", newline="") as file:
        cells = file.read().replace("<0.05", "<LOD")
    with open("t.csv", "w", newline="") as file:
        file.write(cells)
    ran = command("fit", "t.csv", "--below", "iron=0.05", "--n-clusters", "2", "--no-stability", "--save", "m.fusewise")
    assert ran.exit_code == 0, ran.stderr
    found = []
    for name, more in {"missing.csv": "", "both.csv": "<LOD,0.03,p\n"}.items():
        with open(name, "w", newline="") as file:
            file.write(f"iron,zinc,kind\n,0.35,p\n,0.3,q\n{more}")
        ran = command("predict", "m.fusewise", name, "--out", "p.csv", "--force")
        assert ran.exit_code == 0, ran.stderr
        with open("p.csv", newline="") as file:
            found.append([(row["label"], row["confidence"]) for row in csv.DictReader(file)][:2])
    assert found[0] == found[1]


def test_the_clusters_know_what_the_file_says(laboratory):
    """A model of the file is that of its numbers with its bounds, not with the cells missing."""
    from fusewise import FusionClustering, load

    reading = read_table("t.csv", below={"zinc": 0.04})
    assert set(reading.half_known) == {"lower", "upper"}
    by_file = FusionClustering(random_state=0).fit(reading)
    bounds = {"lower": reading.lower, "upper": reading.upper}
    by_bounds = FusionClustering(random_state=0).fit(reading.frame, **bounds)
    without = FusionClustering(random_state=0).fit(reading.frame)
    np.testing.assert_array_equal(by_file.probabilities_, by_bounds.probabilities_)
    assert not np.array_equal(by_file.probabilities_, without.probabilities_)
    np.testing.assert_array_equal(by_file.predict(reading), by_bounds.predict(reading.frame, **bounds))
    ran = command(
        "fit", "t.csv", "--below", "zinc=0.04", "--seed", "0", "--out", "out", "--save", "m", "--no-stability"
    )
    assert ran.exit_code == 0, ran.stderr
    np.testing.assert_allclose(load("m").probabilities_, by_file.probabilities_)


def test_cells_below_a_limit_are_not_called_missing(tmp_path, monkeypatch):
    """One group of three has iron below the limit in most of its rows."""
    rng = np.random.default_rng(0)
    iron, zinc = np.repeat([3.0, 3, 0.3], 40) * np.exp(0.2 * rng.normal(size=120)), np.repeat([1.0, 9, 9], 40)
    monkeypatch.chdir(tmp_path)
    with open("t.csv", "w", newline="") as file:
        rows = zip(iron, zinc * np.exp(0.2 * rng.normal(size=120)), strict=True)
        lines = [[f"{a:.3f}" if a >= 0.35 else "<0.35", f"{b:.3f}"] for a, b in rows]
        csv.writer(file).writerows([["iron", "zinc"], *lines])
    ran = command("fit", "t.csv", "--n-clusters", "3", "--no-stability")
    assert ran.exit_code == 0, ran.stderr
    shown = " ".join(ran.stdout.split())
    assert "lower iron (median below 0.35 against" in shown
    assert "missing iron" not in shown
