"""``fusewise fit --save`` and ``fusewise predict``: new rows, encoded and placed as those of the fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_helpers import read, write

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
        "column 'colour' has values unknown to the model ('mauve'): treated as missing",
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
