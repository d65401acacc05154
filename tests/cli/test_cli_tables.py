"""``fusewise impute``, and tables that are written: filled, unchanged elsewhere, and safe for spreadsheets."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import UNITS, read, write
from hypothesis import given
from hypothesis import strategies as st

from fusewise import FusionImputer
from fusewise.cli._output import write_csv
from fusewise.datasets import hide_entries, make_clusters
from fusewise.tables import Dialect, as_cells


def test_missing_values_get_the_library_s_values_in_the_user_s_units(run, table, numbers):
    X = numbers[0]
    assert run("impute", table).code == 0
    before, after = read(table), read(Path("table_completed.csv"))
    assert all(b in ("", a) for name in "abcd" for b, a in zip(before[name], after[name], strict=True))
    mean, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    expected = FusionImputer().fit_transform((X - mean) / spread) * spread + mean
    found = np.array([after[name] for name in "abcd"], dtype=float).T
    np.testing.assert_allclose(found, expected, atol=0.001 * np.max(UNITS) * 10)


def test_the_error_is_the_one_measured_by_the_library(run, tmp_path):
    X = hide_entries(make_clusters(3, 30, 5, noise=0.1, random_state=0)[0].round(3), 0.2, random_state=1)
    path = write(tmp_path / "t.csv", "abcde", X)
    ran = run("impute", path, "--json")
    imputer = FusionImputer().fit(X)
    assert ran.json["held_out_errors"] == pytest.approx(imputer.held_out_error_)
    assert ran.json["filled_from"] == imputer.fill_
    out = " ".join(run("impute", path, "--out", "again.csv").out.split())
    assert f"error {imputer.held_out_error_[imputer.fill_]:.2f} standard deviations" in out


def test_missing_values_are_counted_and_unused_columns_left_alone(run, mixed):
    ran = run("impute", mixed, "--json")
    before, after = read(mixed), read(Path("mixed_completed.csv"))
    used = [*"abcd", "colour", "wet"]
    assert ran.json["filled"] == sum(cell in ("", "?") for name in used for cell in before[name])
    assert ran.json["left"] == sum(cell == "n/a" for cell in before["blank"])
    assert set(after["colour"]) == {"red", "green", "blue"}
    assert set(after["wet"]) == {"Yes", "no"}
    assert all(after[name] == before[name] for name in before if name not in used)
    out = " ".join(run("impute", mixed, "--out", "again.csv").out.split())
    assert f"filled in {ran.json['filled']} missing values, from" in out
    assert f"not filled {ran.json['left']} missing values, in columns that are not used" in out


@pytest.mark.parametrize("command", ["impute", "fit"])
def test_filled_cells_are_in_the_range_and_on_the_grid(run, tmp_path, command):
    random = np.random.default_rng(0)
    heat = np.repeat([0, 3], 60) + random.normal(size=120)
    X = np.column_stack([heat, np.exp(0.6 * heat).round(3), random.random(120) < 0.4, random.poisson(np.exp(heat / 2))])
    X[random.random(X.shape) < 0.3] = np.nan
    X[np.argsort(heat)[:6], 1] = np.nan
    path = write(tmp_path / "t.csv", ["heat", "ozone", "flag", "visits"], X)
    assert run(command, path, "--number", "flag").code == 0
    after = read(Path("t_completed.csv" if command == "impute" else "t_fusewise/completed.csv"))
    assert set(map(float, after["flag"])) == {0.0, 1.0}
    ozone, visits = (np.array(after[name], float) for name in ("ozone", "visits"))
    assert np.nanmin(X[:, 1]) <= ozone.min() <= ozone.max() <= np.nanmax(X[:, 1])
    assert (visits % 1 == 0).all()
    assert visits.min() >= 0


HEADER = ["name", "=a", "b", "kind"]
NAMES = ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3", "plain", "\t=1", "\uff1d1", "-5%", "-3"]


@pytest.fixture
def formulas(tmp_path):
    rng = np.random.default_rng(0)
    rows = []
    for k in range(27):
        group = k % 3
        rows.append(
            [f"{NAMES[k % 9]}", round(group * 9 - 10 + rng.normal(), 2), "" if k == 5 else group * 8, "=@-"[group]]
        )
    return write(tmp_path / "t.csv", HEADER, rows)


def cells_of(path):
    return [cell for name, cells in read(path).items() for cell in [name, *cells]]


def is_run(cell):
    """Whether a spreadsheet would take a cell for a formula (the list of OWASP, but for numbers)."""
    try:
        float(cell.rstrip("%").replace(",", "."))
    except ValueError:
        return cell[:1] in ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
    return False


def test_nothing_that_a_fit_writes_is_a_formula(run, formulas):
    options = ["--names", "name", "--stability", "--draws", "2", "--save", "m"]
    assert run("fit", "t.csv", "--out", "safe", "--safe-csv", *options).code == 0
    assert run("predict", "m", "t.csv", "--out", "safe/p.csv", "--safe-csv").code == 0
    assert run("impute", "t.csv", "--out", "safe/i.csv", "--safe-csv", "--names", "name").code == 0
    written = sorted(Path("safe").glob("*.csv"))
    assert len(written) == 6
    assert not [cell for path in written for cell in cells_of(path) if is_run(cell)]


def test_only_formulas_are_changed(run, formulas):
    assert run("fit", "t.csv", "--out", "safe", "--safe-csv", "--names", "name").code == 0
    assert run("fit", "t.csv", "--out", "plain", "--names", "name").code == 0
    assert any(is_run(cell) for cell in cells_of(Path("plain/completed.csv")))  # else nothing is tested
    for name in ("labels.csv", "completed.csv", "centers.csv"):
        before, after = cells_of(Path("plain", name)), cells_of(Path("safe", name))
        assert after == [f"'{cell}" if is_run(cell) else cell for cell in before]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8), min_size=1))
def test_any_text_comes_back_but_for_an_apostrophe(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("any") / "t.csv"
    write_csv(path, {"x": as_cells(texts)}, Dialect(), safe=True)
    with path.open(newline="", encoding="utf-8") as file:
        found = [cell for (cell,) in csv.reader(file)][1:]
    for before, after in zip(texts, found, strict=True):
        assert after in (before, f"'{before}")
        assert not is_run(after) or after[:1].isspace()  # a tab that begins ordinary text
