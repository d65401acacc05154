"""``fusewise fit --save``, ``predict``, ``explain`` and ``fit --like``: what is done with a saved model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_helpers import STEADY, read, write

import fusewise
from fusewise import FusionClustering, FusionImputer, PenalizedFusion


@pytest.fixture
def fitted(run, mixed):
    """A model of the mixed table, and the labels it found."""
    assert run("fit", mixed, "--save", "m.fusewise", "--out", "out").code == 0
    return read(Path("out/labels.csv"))


def rewrite(path: Path, target: str, change) -> None:
    """A table with its columns changed by a function of {name: cells}."""
    columns = change(read(path))
    write(Path(target), columns, zip(*columns.values(), strict=True))


def test_the_rows_of_the_fit_get_the_labels_of_the_fit(run, mixed, fitted):
    ran = run("predict", "m.fusewise", mixed, "--json")
    assert ran.code == 0, ran.err
    found = read(Path("mixed_labels.csv"))
    assert found == fitted  # names, labels and, where there is one, confidence
    assert ran.json["sizes"] == [fitted["label"].count(str(k)) for k in range(3)]
    assert ran.json["ari"] == pytest.approx(1)


@pytest.mark.parametrize("kind", ["order", "semicolons", "parquet", "xlsx"])
def test_the_same_rows_however_they_are_written(run, mixed, fitted, kind):
    frame = pd.read_csv(mixed, dtype=str, keep_default_na=False)
    if kind == "order":
        frame[frame.columns[::-1]].assign(new="x").to_csv("t.csv", index=False)
    elif kind == "semicolons":
        for name in "abcd":
            frame[name] = frame[name].str.replace(".", ",")
        frame.to_csv("t.csv", index=False, sep=";")
    else:
        frame = frame.replace("", None)
        frame.to_parquet("t.csv") if kind == "parquet" else frame.to_excel("t.xlsx", index=False)
        Path("t.csv").rename("t.parquet") if kind == "parquet" else None
    table = {"parquet": "t.parquet", "xlsx": "t.xlsx"}.get(kind, "t.csv")
    ran = run("predict", "m.fusewise", table)
    assert ran.code == 0, ran.err
    found = read(Path("t_labels.csv"), ";" if kind == "semicolons" else ",")
    assert found["label"] == fitted["label"]


def test_neither_the_table_nor_the_model_is_replaced(run, mixed, fitted):
    for kept in (Path("m.fusewise"), mixed):
        before = kept.read_bytes()
        ran = run("predict", "m.fusewise", mixed, "--out", kept, "--force")
        assert ran.code == 2
        assert "would overwrite the input file" in ran.err
        assert kept.read_bytes() == before


def test_a_row_without_its_name_gets_its_number(run, mixed, fitted):
    rewrite(mixed, "t.csv", lambda columns: columns | {"sample": ["", *columns["sample"][1:]]})
    assert run("predict", "m.fusewise", "t.csv").code == 0
    assert read(Path("t_labels.csv"))["sample"][:2] == ["1", "s01"]


def test_what_does_not_match_is_taken_as_missing_and_said(run, mixed, fitted):
    rewrite(mixed, "t.csv", lambda c: {n: ["mauve"] * len(v) if n == "colour" else v for n, v in c.items() if n != "b"})
    ran = run("predict", "m.fusewise", "t.csv", "--json")
    assert ran.json["notes"] == [
        "column 'b' is not in the table: treated as missing",
        "column 'colour': values unknown to the model ('mauve') are treated as missing",
    ]
    rewrite(mixed, "holes.csv", lambda c: {n: [""] * len(v) if n in ("b", "colour") else v for n, v in c.items()})
    run("predict", "m.fusewise", "holes.csv")
    assert read(Path("t_labels.csv")) == read(Path("holes_labels.csv"))


@pytest.mark.parametrize(("change", "message"), [
    (lambda c: {"x": c["a"], "sample": c["sample"]}, "has none of the model's columns: 'a', 'b', 'c', 'd'"),
    (lambda c: c | {"a": ["much"] * len(c["a"])}, "column 'a', row 1: 'much' is not a number (and 35 more cells)"),
])  # fmt: skip
def test_tables_that_do_not_fit_the_model(run, mixed, fitted, change, message):
    rewrite(mixed, "t.csv", change)
    ran = run("predict", "m.fusewise", "t.csv")
    assert ran.code == 2
    assert message in ran.err
    assert not Path("t_labels.csv").exists()


@pytest.mark.filterwarnings("ignore::fusewise.DataWarning")
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("kind", [FusionClustering, FusionImputer, PenalizedFusion])
def test_models_saved_from_python(run, table, numbers, named, kind):
    """Columns as numbers, as they are: by name where the model has names, else in their order."""
    X = numbers[0]
    model = kind().fit(pd.DataFrame(X, columns=list("abcd")) if named else X)
    model.save("m.fusewise")
    ran = run("predict", "m.fusewise", table)
    assert ran.code == 0, ran.err
    clustering = getattr(model, "clustering_", model)
    expected = clustering.predict(pd.DataFrame(X, columns=list("abcd")) if named else X)
    assert read(Path("table_labels.csv"))["label"] == [str(label) for label in expected]


def test_models_that_cannot_predict(run, table):
    FusionClustering().save("new.fusewise")
    assert "was not fitted before it was saved" in (ran := run("predict", "new.fusewise", table)).err
    assert ran.code == 2
    PenalizedFusion(1.0, penalty="h1").fit(np.eye(3)).save("three.fusewise")
    assert "3 unnamed features, but" in (ran := run("predict", "three.fusewise", table)).err
    assert ran.code == 2


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
