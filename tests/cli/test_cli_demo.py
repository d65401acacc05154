"""``fusewise demo`` and ``reproduce``: what is written, what is refused, and how it ends."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import read
from sklearn.datasets import load_wine

import fusewise

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"
FILES = [
    "centers.csv", "completed.csv", "description.txt", "labels.csv", "report.html", "rules.sql", "wine.csv",
    "wine.fusewise",
]  # fmt: skip


def test_demo_ends_with_the_report(run, monkeypatch, capsys):
    """Run as ``make demo`` does, twice: the second run replaces the first."""
    monkeypatch.setattr(sys, "argv", ["demo.py", "--out", "here"])
    for _ in range(2):
        with pytest.raises(SystemExit) as exit_:
            runpy.run_path(str(DEMO), run_name="__main__")
        assert exit_.value.code in (0, None)
        out = capsys.readouterr().out
        assert out.rstrip().endswith(f"Report: {Path('here/report.html')}")
        assert sorted(os.listdir("here")) == FILES
    assert fusewise.load("here/wine.fusewise").n_clusters_ == 3


def test_demo_compares_with_what_was_hidden(run):
    ran = run("demo", "--hidden", "0.2", "--json")
    assert ran.code == 0, ran.err
    truth = load_wine().data
    filled = np.array(list(read(Path("fusewise_demo/completed.csv")).values())[:13], dtype=float).T
    missing = np.array([[cell == "" for cell in c] for c in list(read(Path("fusewise_demo/wine.csv")).values())[:13]]).T
    assert missing.mean() == pytest.approx(0.2, abs=0.02)
    seen = np.where(missing, np.nan, truth)
    away = ((filled - truth) / np.nanstd(seen, axis=0))[missing]
    assert ran.json["error_filled"] == pytest.approx(np.sqrt(np.mean(away**2)), rel=5e-3)  # the file is rounded
    assert ran.json["error_filled"] < ran.json["error_column_means"]
    again = run("demo")
    assert again.code == 2
    assert "already exists: choose another output, or add --force" in again.err


def test_demo_refuses_what_makes_no_sense(run):
    assert (ran := run("demo", "--hidden", "1.5")).code == 2
    assert "'--hidden'" in ran.err
    assert os.listdir() == []


def test_a_figure(run, tmp_path):
    """Also into a folder that Rich would take for the end of a style, and end in an error."""
    done = run("reproduce", "fig2", "--quick", "--out", tmp_path / "[/x]")
    assert done.code == 0, done.out
    assert "closely approximate" in " ".join(done.out.split())
    assert "agrees" in done.out
    assert str(tmp_path / "[/x]") in done.out
    assert (tmp_path / "[/x]" / "index.html").is_file()
    again = run("reproduce", "fig2", "--quick", "--out", tmp_path / "[/x]")
    assert again.code == 0


@pytest.mark.parametrize("figure", ["fig9", "5", ""])
def test_unknown_figure(run, tmp_path, figure):
    done = run("reproduce", figure, "--out", tmp_path / "paper")
    assert done.code == 2
    assert "use one of fig2, fig3" in done.err
    assert not (tmp_path / "paper").exists()


def test_a_folder_of_other_files_is_left_alone(run, tmp_path):
    (tmp_path / "index.html").write_text("mine")
    done = run("reproduce", "fig2", "--out", tmp_path)
    assert done.code == 2
    assert "contains other files" in done.err
    assert (tmp_path / "index.html").read_text() == "mine"
    assert run("reproduce", "fig2", "--out", tmp_path, "--force").code == 0


def test_a_file_in_the_way(run, tmp_path):
    (tmp_path / "paper").write_text("mine")
    for out in (tmp_path / "paper", tmp_path / "paper" / "below"):
        done = run("reproduce", "fig2", "--out", out)
        assert done.code == 2
        assert "cannot write" in done.err
    assert (tmp_path / "paper").read_text() == "mine"
