"""The user's mistakes: exit code 2, a message that says what and where, and nothing half-written."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fusewise.cli import _fit as fit_module

GOOD = "a,b\n1,2\n2,1\n8,9\n9,8\n"

FILES = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\n", "is empty"),
    "nothing after the mark of UTF-8": (b"\xef\xbb\xbf\r\n", "is empty"),
    "nothing after the mark of UTF-16": (b"\xff\xfe", "is empty"),
    "nothing after the separator": (b"sep=;\r\n", "is empty"),
    "utf-16 cut short": ("a,b\n1,2\n3,4\n".encode("utf-16")[:-1], "starts as UTF-16 but is not valid"),
    "binary": (b"\x00\x01\x02PNG\xff", "binary data"),
    "json": (b'{"a": [1, 2]}', "looks like JSON"),
    "html": (b"<html></html>", "looks like HTML"),
    "header": (b"a,b\n", "but no rows"),
    "long row": (b"a,b\n1,2\n3,4,5\n", "line 3: 3 fields, but the header has 2"),
    "short row": (b"a,b,c\n1,2,3\n\n4\n", "line 4: 1 field, but the header has 3"),
    "one row": (b"a,b\n1,2\n", "has only one row"),
    "text only": (b"x,when\nfoo,soon\nbar,later\n", "'when' (identifier: text"),
    "all missing": (b"a,b\n,NA\n?,-\n", "all values of"),
    "infinite": (b"a,b\n1,2\n3,-inf\n4,inf\n", "column 'b', row 2 (and 1 more): -inf is infinite"),
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
    assert "t.csv" in ran.err or kind in ("infinite", "largest number")
    assert "Traceback" not in ran.err
    assert left_over(tmp_path) == ["t.csv"]


def test_missing_file_and_folder(run, tmp_path):
    assert (ran := run("fit", "no.csv")).code == 2
    assert "file 'no.csv' does not exist" in ran.err
    assert (ran := run("fit", tmp_path)).code == 2
    assert "is a folder" in ran.err


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".xlsx"])
def test_damaged_binary_files(run, tmp_path, suffix):
    if suffix == ".xlsx":
        pytest.importorskip("openpyxl")
    whole = tmp_path / "whole.parquet"
    pd.DataFrame({"a": range(1000)}).to_parquet(whole)
    (tmp_path / f"cut{suffix}").write_bytes(whole.read_bytes()[:-200])
    before = left_over(tmp_path)
    for command in (["fit"], ["impute"], ["path"], ["guarantee", "--labels", "a"]):
        ran = run(*command, f"cut{suffix}")
        assert ran.code == 2
        assert "is not a readable" in ran.err
    assert left_over(tmp_path) == before


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".xlsx"])
def test_binary_files_without_a_table(run, tmp_path, suffix):
    (tmp_path / f"t{suffix}").write_bytes(b"")
    assert "is empty" in run("fit", f"t{suffix}").err
    if suffix == ".xlsx":
        pytest.importorskip("openpyxl")
        pd.DataFrame([["a", "a"], [1, 2], [3, 4]]).to_excel(tmp_path / "t.xlsx", index=False, header=False)
        assert run("fit", "t.xlsx", "--out", "t").code == 0  # the second is called a (2)
        return
    assert left_over(tmp_path) == [f"t{suffix}"]


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


def test_the_table_itself_is_never_replaced(run, tmp_path):
    (tmp_path / "completed.csv").write_text(GOOD)
    ran = run("fit", "completed.csv", "--out", ".", "--force")
    assert ran.code == 2
    assert "would overwrite the input file 'completed.csv'" in ran.err
    assert (tmp_path / "completed.csv").read_text() == GOOD


@pytest.mark.parametrize("out", ["file", "file/deeper"])
def test_a_file_where_the_folder_should_be(run, tmp_path, out):
    (tmp_path / "t.csv").write_text(GOOD)
    (tmp_path / "file").write_text("mine")
    ran = run("fit", "t.csv", "--out", out)
    assert ran.code == 2
    assert "'file' is a file, not a folder" in ran.err
    assert left_over(tmp_path) == ["file", "t.csv"]


@pytest.mark.parametrize("existing", [False, True])
def test_a_full_disk_leaves_nothing(run, tmp_path, monkeypatch, existing):
    (tmp_path / "t.csv").write_text(GOOD)
    if existing:
        assert run("fit", "t.csv", "--out", "out/deep").code == 0
    write = fit_module.write_csv

    def fail_at_the_second(path, columns, dialect, **options):
        if path.name == "completed.csv":
            raise OSError(28, "No space left on device")
        write(path, columns, dialect, **options)

    before = left_over(tmp_path)
    monkeypatch.setattr(fit_module, "write_csv", fail_at_the_second)
    ran = run("fit", "t.csv", "--out", "out/deep", "--force")
    assert ran.code == 2
    assert "cannot write to 'out/deep': No space left on device" in ran.err
    assert left_over(tmp_path) == before


def test_only_one_row_with_anything_observed(run, tmp_path):
    (tmp_path / "t.csv").write_text("id,a,b\nx,1,2\ny,,\nz,,\n")
    ran = run("fit", "t.csv")
    assert ran.code == 2
    assert left_over(tmp_path) == ["t.csv"]
