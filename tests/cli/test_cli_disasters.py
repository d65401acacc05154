"""Mistakes, full disks, closed folders, Ctrl-C, damaged models: exit codes, messages, and nothing half-written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import write

from fusewise import FusionClustering, PenalizedFusion
from fusewise.datasets import make_clusters

GOOD = "a,b\n1,2\n2,1\n8,9\n9,8\n"

WRITING = {
    "fit": ["fit", "t.csv", "--out", "new/out", "--save", "new/m.fusewise", "--report"],
    "predict": ["predict", "m.fusewise", "t.csv", "--out", "new/l.csv"],
    "impute": ["impute", "t.csv", "--out", "new/t.csv"],
    "path": ["path", "t.csv", "--out", "new/p.csv"],
    "demo": ["demo", "--out", "new/demo"],
}


def listing(folder: Path) -> dict[str, bytes | None]:
    """Everything in a folder, with what it holds."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "t.csv").write_text(GOOD)
    FusionClustering().fit(np.array([[1, 2], [2, 1], [8, 9], [9, 8.0]])).save(tmp_path / "m.fusewise")
    return tmp_path


def stopped(run, place, command, code, message):
    before = listing(place)
    ran = run(*WRITING[command])
    assert ran.code == code
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ""
    assert listing(place) == before


@pytest.mark.parametrize("command", WRITING)
def test_a_folder_that_cannot_be_written_to(run, place, command, monkeypatch):
    mkdir = os.mkdir

    def refuse(path, *args, **options):
        if "new" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        mkdir(path, *args, **options)

    monkeypatch.setattr(os, "mkdir", refuse)
    stopped(run, place, command, 2, "Permission denied")


@pytest.mark.parametrize("command", WRITING)
@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("fused_, 9 x 9 numbers, would take 1 TiB", "not enough memory: fused_, 9 x 9 numbers, would take 1 TiB\n"),
        ("all pairs take 1 TiB: give n_neighbors=30, say", "all pairs take 1 TiB: give --neighbors 30, say\n"),
        ("", "not enough memory: use a larger machine"),
    ],
)
def test_too_little_memory(run, place, command, said, shown, monkeypatch):
    def refuse(*args, **options):
        raise MemoryError(said)

    monkeypatch.setattr(FusionClustering, "fit", refuse)
    monkeypatch.setattr(PenalizedFusion, "fit", refuse)
    monkeypatch.setattr(FusionClustering, "predict", refuse)
    stopped(run, place, command, 2, shown)


@pytest.mark.parametrize("command", WRITING)
@pytest.mark.parametrize("when", ["fitting", "writing"])
def test_ctrl_c(run, place, command, when, monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    if when == "fitting":
        monkeypatch.setattr(FusionClustering, "fit", interrupt)
        monkeypatch.setattr(PenalizedFusion, "fit", interrupt)
        monkeypatch.setattr(FusionClustering, "predict", interrupt)
    else:
        monkeypatch.setattr(os, "fsync", interrupt)
    stopped(run, place, command, 130, "interrupted; nothing was written")


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files")
def test_a_disk_that_is_really_full(place):
    """The kernel refuses to let any file grow beyond a limit, whoever writes it: a table, the model, the report."""
    X, _, _ = make_clusters(2, 100, 4, noise=0.1, random_state=0)
    write(place / "big.csv", "abcd", X.round(3))
    script = """
import resource, signal
from fusewise.cli import main
from fusewise import FusionClustering
FusionClustering().fit([[0, 1], [1, 0], [5, 6], [6, 5.]])  # what is compiled is kept before
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for limit, options in [(4_000, []), (20_000, ["--save", "new/m.fusewise"]), (60_000, ["--report"])]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        main(["fit", "big.csv", "--out", "new", *options])
    except SystemExit as exit:
        print(exit.code)
"""
    before = listing(place)
    command = [sys.executable, "-c", script]
    # Coverage would want to write a file of its own at the end.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    ran = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert ran.stdout.split() == ["2"] * 3, ran.stderr
    assert ran.stderr == 3 * "fusewise: cannot write to 'new': File too large\n"
    assert listing(place) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_output_to_a_full_disk(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,kind\n0,0,u\n9,9,v\n0.1,0,u\n9,9.1,v\n")
    command = [sys.executable, "-m", "fusewise.cli", "guarantee", "t.csv", "--labels", "kind"]
    with open("/dev/full", "w") as full:
        ran = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 2
    assert ran.stderr == "fusewise: No space left on device\n"


MODELS = {
    "table": (lambda p: p.write_text(GOOD), "is not a Fusewise model"),
    "folder": (lambda p: p.mkdir(), "cannot read 'model.fusewise': Is a directory"),
    "nothing": (lambda p: None, "file 'model.fusewise' does not exist"),
}


@pytest.mark.parametrize("kind", MODELS)
def test_models_that_are_none(run, place, kind):
    make, message = MODELS[kind]
    make(place / "model.fusewise")
    ran = run("predict", "model.fusewise", "t.csv")
    assert ran.code == 2
    assert message in ran.err
    assert "'model.fusewise'" in ran.err


@pytest.mark.parametrize(
    "options", [["--save", "t.csv"], ["--save", "out/labels.csv"], ["--save", "."], ["--save", "/dev/null"]]
)
def test_a_model_is_saved_over_nothing_else(run, place, options):
    before = listing(place)
    ran = run("fit", "t.csv", "--out", "out", *options, "--force")
    assert ran.code == 2
    assert listing(place) == before
    assert not Path("/dev/null").is_file()


def test_a_very_wide_table(run, place):
    """16,500 columns, more than a workbook holds, of which one is there twice: said, and clustered."""
    X, _, _ = make_clusters(2, 3, 16_500, noise=0.1, random_state=0)
    names = [f"g{j}" for j in range(16_500)]
    write(place / "wide.csv", [*names[:-1], "g5"], X.round(2))
    ran = run("fit", "wide.csv", "--out", "out", "--json")
    assert ran.code == 0, ran.err
    assert "column 16500 is named 'g5' like another: it is called 'g5 (2)' here" in ran.json["notes"]
    assert ran.json["features"] == 16_500
    assert sum(ran.json["sizes"]) + ran.json["outliers"] == 6


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
    ("--fidelity box --epsilon -1", "'--epsilon'"),
    ("--epsilon 1", "--epsilon can only be used with --fidelity box or ball"),
    ("--lam -2", "'--lam'"),
    ("--lam nan", "'--lam'"),
    ("--sigma 0", "--sigma must be"),
    ("--n-clusters 0", "'--n-clusters'"),
    ("--penalty l1 --sigma 1", "has no scale"),
    ("--penalty l7", "'l7'"),
    ("--penalty l0", "'l0'"),
    ("--fidelity cube", "'cube'"),
    ("--rank -1", "--rank must be a whole number"),
    ("--neighbors few", "--neighbors must be a whole number"),
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
    names = ("labels.csv", "completed.csv", "centers.csv", "description.txt", "rules.sql")
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
