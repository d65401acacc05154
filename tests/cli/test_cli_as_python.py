"""The command and Python are one: the same clusters for the same typed table, and models that go both ways."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_helpers import read, write

from fusewise import FusionClustering, load
from fusewise.tables import read_table

ROWS = 60
WORDS = {
    "colour": ("red", "green", "blue"),
    "town": ("Ulm", "Bern", "Ulm"),
    "size": ("low", "mid", "high"),
    "wet": ("yes", "no", "no"),
    "new": (0, 1, 1),
    "grade": (1, 2, 5),
    "rating": (3, 2, 1),
    "mark": (4, 4, 7),
}
ORDER = ("--ordered", "size:low<mid<high")
KINDS = {"size": ["low", "mid", "high"]}
TABLES = {
    "numbers": ["length", "weight"],
    "mixed": ["length", "colour", "weight", "wet", "size", "new"],
    "categories": ["colour", "town", "size"],
    "ordered": ["size", "grade", "rating"],
    "flags": ["wet", "new", "colour"],
    "codes": ["new", "grade", "rating", "mark"],
    "European": ["length", "colour", "weight"],
}


def rows_of(columns: list[str], seed: int = 0) -> list[list[object]]:
    """Rows of three classes; one entry in ten is missing, and one word in ten is of any class."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(ROWS):
        odd = [int(rng.integers(3)) if rng.random() < 0.1 else i % 3 for _ in columns]
        numbers = (5 * (i % 3) + rng.normal(size=len(columns))).round(2).tolist()
        cells = [WORDS[name][k] if name in WORDS else x for name, k, x in zip(columns, odd, numbers, strict=True)]
        rows.append(["" if rng.random() < 0.1 else cell for cell in cells])
    return rows


def table_of(folder: Path, name: str, seed: int = 0) -> tuple[Path, list[str], dict[str, list[str]]]:
    """A file, and what the command and ``read_table`` are told of it."""
    columns, rows = TABLES[name], rows_of(TABLES[name], seed)
    if name == "European":
        rows = [[str(cell).replace(".", ",") for cell in row] for row in rows]
    path = write(folder / f"{name}.csv", columns, rows, ";" if name == "European" else ",")
    told = "size" in columns
    return path, list(ORDER) if told else [], KINDS if told else {}


def labels(folder: str, separator: str = ",") -> list[int]:
    return [int(label) for label in read(Path(folder, "labels.csv"), separator)["label"]]


@pytest.mark.parametrize("name", TABLES)
def test_the_command_finds_the_clusters_of_the_typed_frame(run, tmp_path, name):
    path, options, kinds = table_of(tmp_path, name)
    ran = run("fit", path, "--out", "out", *options)
    assert ran.code == 0, ran.err
    model = FusionClustering().fit(read_table(path, kinds=kinds).frame)
    assert model.labels_.tolist() == labels("out", ";" if name == "European" else ",")
    assert model.n_clusters_ > 1  # else every reading would agree


@pytest.mark.parametrize("name", ["numbers", "mixed", "flags", "codes"])
def test_a_model_saved_by_the_command_predicts_in_python(run, tmp_path, name):
    path, options, kinds = table_of(tmp_path, name)
    assert run("fit", path, "--out", "out", "--save", "m.fusewise", *options).code == 0
    reading = read_table(path, kinds=kinds)
    model = load("m.fusewise")
    assert model.predict(reading.frame).tolist() == labels("out")
    assert model.predict(reading).tolist() == labels("out")
    assert list(model.feature_names_in_) == TABLES[name]


def test_a_flag_of_a_frame_is_yes_or_no_in_a_file(run, tmp_path):
    rows = rows_of(["length", "wet"])
    frame = pd.DataFrame(rows, columns=["length", "wet"]).replace("", None)
    frame = frame.assign(wet=frame["wet"].map({"yes": True, "no": False}).astype("boolean")).astype({"length": float})
    model = FusionClustering().fit(frame)
    model.save("m.fusewise")
    few = [row for row in rows if row[1] == "yes"][:5]  # one value alone: which it is must not depend on the others
    ran = run("predict", "m.fusewise", write(tmp_path / "t.csv", ["length", "wet"], few), "--out", "l.csv")
    assert ran.code == 0, ran.err
    new = pd.DataFrame({"length": [None if x == "" else float(x) for x, _ in few], "wet": [True] * 5})
    expected = model.predict(new.astype({"length": float, "wet": "boolean"}))
    assert [int(label) for label in read(Path("l.csv"))["label"]] == expected.tolist()
