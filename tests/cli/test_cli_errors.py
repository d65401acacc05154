"""The user's mistakes: exit code 2, a message that says what and where, and nothing half-written."""

from __future__ import annotations

from pathlib import Path

import pytest

GOOD = "a,b\n1,2\n2,1\n8,9\n9,8\n"

FILES = {
    "empty": (b"", "is empty"),
    "binary": (b"\x00\x01\x02PNG\xff", "binary data"),
    "long row": (b"a,b\n1,2\n3,4,5\n", "line 3: 3 fields, but the header has 2"),
    "one row": (b"a,b\n1,2\n", "has only one row"),
    "largest number": (b"a,b\n1,2\n3,-1.797e308\n4,5\n", "column 'b', row 2: -1.797e+308 is too large"),
}


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


@pytest.mark.parametrize("kind", FILES)
def test_files_that_are_no_table(run, tmp_path, kind):
    content, message = FILES[kind]
    (tmp_path / "t.csv").write_bytes(content)
    ran = run("fit", "t.csv", "--out", "deep/out")
    assert ran.code == 2
    assert ran.err.startswith("fusewise: ")
    assert message in ran.err
    assert "t.csv" in ran.err or kind == "largest number"
    assert "Traceback" not in ran.err
    assert left_over(tmp_path) == ["t.csv"]


def test_missing_file_and_folder(run, tmp_path):
    assert (ran := run("fit", "no.csv")).code == 2
    assert "file 'no.csv' does not exist" in ran.err
    assert (ran := run("fit", tmp_path)).code == 2
    assert "is a folder" in ran.err


@pytest.mark.parametrize(("options", "message"), [
    ("--drop bb", "--drop: the table has no column 'bb'"),
    ("--labels klass", "--labels: the table has no column 'klass'; it has a, b"),
    ("--names nobody", "--names: the table has no column 'nobody'"),
    ("--drop a --drop b", "no column of 't.csv' can be used for clustering"),
    ("--n-clusters 5", "--n-clusters 5 is more than the 4 rows"),
    ("--n-clusters 0", "--n-clusters must be at least 1"),
])  # fmt: skip
@pytest.mark.parametrize("command", ["fit", "impute", "path"])
def test_options_out_of_range(run, tmp_path, command, options, message):
    (tmp_path / "t.csv").write_text(GOOD)
    ran = run(command, "t.csv", *options.split())
    assert ran.code == 2
    assert message in ran.err
    assert left_over(tmp_path) == ["t.csv"]


@pytest.mark.parametrize(("options", "message"), [
    ("--fidelity box --epsilon -1", "--epsilon must be a non-negative number, got -1"),
    ("--epsilon 1", "--epsilon can only be used with --fidelity box or ball"),
    ("--lam -2", "--lam must be a non-negative number, got -2"),
    ("--lam nan", "--lam must be a non-negative number"),
    ("--sigma 0", "--sigma must be"),
    ("--penalty l1 --sigma 1", "has no scale"),
    ("--penalty l7", "unknown --penalty 'l7': use one of l1, lp, h1, mcp, scad, truncated_l2, geman_mcclure"),
    ("--penalty l0", "unknown --penalty 'l0'"),
    ("--fidelity cube", "unknown --fidelity 'cube': use one of quadratic, box, ball"),
    ("--rank -1", "--rank must be a positive whole number"),
    ("--neighbors few", "--neighbors must be a positive whole number"),
])  # fmt: skip
def test_options_of_the_path_out_of_range(run, tmp_path, options, message):
    (tmp_path / "t.csv").write_text(GOOD)
    ran = run("path", "t.csv", *options.split())
    assert ran.code == 2
    assert message in ran.err
    assert left_over(tmp_path) == ["t.csv"]


def test_results_are_replaced_only_by_force(run, tmp_path):
    (tmp_path / "t.csv").write_text(GOOD)
    (tmp_path / "out").mkdir()
    kept = tmp_path / "out/notes.txt"
    kept.write_text("mine")
    assert run("fit", "t.csv", "--out", "out").code == 0
    (tmp_path / "out/labels.csv").write_text("old")
    ran = run("fit", "t.csv", "--out", "out")
    assert ran.code == 2
    names = ("labels.csv", "completed.csv", "centers.csv", "description.txt", "rules.sql", "rules.py")
    assert f"{', '.join(f'out/{name}' for name in names)} already exist" in ran.err
    assert (tmp_path / "out/labels.csv").read_text() == "old"
    assert run("fit", "t.csv", "--out", "out", "--force").code == 0
    assert (tmp_path / "out/labels.csv").read_text().startswith("row,label,confidence\n")
    assert kept.read_text() == "mine"
    assert left_over(tmp_path) == sorted([*names, "notes.txt", "out", "t.csv"])


def test_only_one_row_with_anything_observed(run, tmp_path):
    (tmp_path / "t.csv").write_text("id,a,b\nx,1,2\ny,,\nz,,\n")
    ran = run("fit", "t.csv")
    assert ran.code == 2
    assert left_over(tmp_path) == ["t.csv"]
