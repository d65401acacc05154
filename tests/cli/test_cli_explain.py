"""``fusewise explain`` and ``fusewise fit --like``: questions that follow a fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_helpers import STEADY, read

import fusewise


@pytest.fixture
def model(run, mixed):
    assert run("fit", mixed, "--save", "m.fusewise", "--out", "out", *STEADY).code == 0
    return fusewise.load("m.fusewise")


def test_rows_are_explained_by_name(run, mixed, model):
    labels = read(Path("out/labels.csv"))
    names = next(iter(labels.values()))
    ran = run("explain", "m.fusewise", mixed, "--row", names[3], "--row", names[-1])
    assert ran.code == 0, ran.err
    assert f"row {names[3]}: in cluster {labels['label'][3]} rather than" in ran.out
    assert "sizes of the clusters" in ran.out
    found = run("explain", "m.fusewise", mixed, "--row", names[3], "--json").json["rows"][0]
    assert found["by_size"] + sum(entry["nats"] for entry in found["entries"]) == pytest.approx(found["log_odds"])
    wrong = run("explain", "m.fusewise", mixed, "--row", "nobody")
    assert wrong.code == 2
    assert "has no row 'nobody': its rows are" in wrong.err


def test_a_refit_keeps_the_numbers(run, mixed, model):
    before = read(Path("out/labels.csv"))["label"]
    ran = run("fit", mixed, "--like", "m.fusewise", "--out", "again", "--save", "again.fusewise", *STEADY)
    assert ran.code == 0, ran.err
    assert read(Path("again/labels.csv"))["label"] == before
    assert "is the earlier cluster 0" in ran.out
    assert fusewise.load("again.fusewise").matching_.similarity.min() == 1
    wrong = run("fit", mixed, "--like", "nothing.fusewise", "--out", "other")
    assert wrong.code == 2
    assert "'nothing.fusewise' does not exist" in wrong.err
