"""Categories are shares of levels, in the same words wherever a result is shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli_helpers import read, write

from fusewise import load
from fusewise.views import ProfileDisplay, read_findings


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """Three classes in two categories and a flag; one entry in ten is missing."""
    rng = np.random.default_rng(0)
    words = {"colour": ("Red", "green", "blue"), "wet": ("Yes", "no", "no"), "size": ("low", "mid", "high")}
    rows = [[of[i % 3] if rng.random() > 0.1 else "" for of in words.values()] for i in range(60)]
    return write(tmp_path / "answers.csv", words, rows)


def test_the_same_names_and_shares_everywhere(run, answers):
    ordered = ("--ordered", "size:low<mid<high")
    ran = run("fit", answers, "--out", "out", "--save", "m.fusewise", "--report", *ordered)
    assert ran.code == 0, ran.err
    centers = read(Path("out/centers.csv"))
    names = ["colour=Red", "colour=blue", "colour=green", "wet=no", "wet=Yes", "size=low", "size=mid", "size=high"]
    assert sorted(centers) == sorted(
        ["cluster", "size", "name", *names, *(f"{name} (observed share)" for name in names)]
    )
    model = load("m.fusewise")
    found = read_findings(model)
    assert list(found.features) == list(model.encoder_.features)
    assert set(found.features) == set(names)
    page = Path("out/report.html").read_text("utf-8")
    for k in range(model.n_clusters_):
        shares = {name: float(centers[name][k]) for name in names}
        for column in ("colour", "wet", "size"):
            assert sum(share for name, share in shares.items() if name.startswith(f"{column}=")) == pytest.approx(
                1, abs=2e-3
            )
        assert all(f"({min(max(share, 0), 1):.0%})" in page for share in shares.values())
    assert all(name in page for name in names)
    assert set(ProfileDisplay.from_estimator(model).features) == set(names)
    completed = read(Path("out/completed.csv"))
    assert set(completed["colour"]) == {"Red", "green", "blue"}
    assert set(completed["wet"]) == {"Yes", "no"}
    assert set(completed["size"]) == {"low", "mid", "high"}
