"""``--safe-csv``: text that a spreadsheet would run as a formula is written as text, and everything else as it is."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import read, write
from hypothesis import given
from hypothesis import strategies as st

from fusewise.cli._output import write_csv
from fusewise.tables import Dialect, as_cells

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
