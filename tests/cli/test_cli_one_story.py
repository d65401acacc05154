"""Terminal, files, report and Python tell the same, and models go both ways."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from cli_helpers import read, write
from sklearn.metrics import adjusted_rand_score
from typer.testing import CliRunner

from fusewise import FusionClustering, load
from fusewise.cli._app import app
from fusewise.tables import read_table
from fusewise.views._rules import sql_name

pytest.importorskip("jinja2")


def page_of(path: Path) -> tuple[str, dict]:
    html = path.read_text("utf-8")
    return html, json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL)[1])


def unpacked(entry: dict) -> np.ndarray:
    kinds = {"f4": "<f4", "f8": "<f8", "u1": "u1", "i2": "<i2", "i4": "<i4"}
    return np.frombuffer(base64.b64decode(entry["bytes"]), kinds[entry["kind"]]).reshape(entry["shape"])


@pytest.fixture(scope="module")
def mixed(tmp_path_factory) -> Path:
    """Three overlapping clusters with categories, missing values, row names, classes and a column of dates."""
    rng = np.random.default_rng(0)
    lines = ["name,length,depth,mass,island,sex,species,day"]
    for i, k in enumerate(np.repeat([0, 1, 2], [60, 50, 40])):
        length, depth = np.array([[38, 18], [48, 15], [48, 19]])[k] + rng.normal(0, [2.2, 0.9])
        cells = [f"{length:.1f}", f"{depth:.1f}", f"{[3700, 5000, 3750][k] + 350 * rng.normal():.0f}"]
        cells += [rng.choice(["Biscoe", "Dream"], p=[[0.5, 0.5], [0.95, 0.05], [0.1, 0.9]][k]), rng.choice(["f", "m"])]
        shown = ["" if rng.random() < 0.08 else cell for cell in cells]
        lines.append(",".join([f"row {i}", *shown, "ABC"[k], f"2020-01-{i % 28 + 1:02d}"]))
    path = tmp_path_factory.mktemp("story") / "mixed.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def story(mixed):
    """What ``fit --report`` prints, with and without ``--json``, and the page."""
    folder = mixed.parent / "out"
    command = ["fit", str(mixed), "--report", "--no-stability", "--out", str(folder)]
    printed, said = (CliRunner().invoke(app, [*command, *more]).stdout for more in ([], ["--json", "--force"]))
    return Story(json.loads(said), printed, *page_of(folder / "report.html"), folder)


class Story(NamedTuple):
    fit: dict
    printed: str
    html: str
    data: dict
    folder: Path

    def text(self, name: str) -> str:
        return (self.folder / name).read_text("utf-8")

    @property
    def labels(self) -> list[int]:
        return [int(label) for label in read(self.folder / "labels.csv")["label"]]


def test_counts_are_those_of_the_table(story, mixed):
    fit, html = story.fit, story.html
    used = read_table(mixed).used
    seen = np.mean([~np.isnan(column.values) for column in used])
    assert fit["features"] == len(used) < fit["encoded_features"]
    assert fit["observed_fraction"] == pytest.approx(seen)
    said = (
        f"{fit['clusters']} clusters in {fit['rows']} rows and {len(used)} columns; {seen:.1%} of the values observed."
    )
    assert said in html
    assert story.text("description.txt").startswith(said)


def test_the_page_completes_the_table_as_the_file_does(story):
    written = read(story.folder / "completed.csv")
    columns = [column for column in story.data["rows"]["columns"] if column["name"] in written]
    assert len(columns) >= 5
    for column in columns:
        cells, texts = unpacked(column["values"]), written[column["name"]]
        if "levels" in column:
            assert [column["levels"][cell] for cell in cells] == texts
        else:
            np.testing.assert_allclose(cells, [float(text) for text in texts], rtol=1e-6)


def test_what_sets_a_cluster_apart_is_said_once(story):
    fit, html = story.fit, story.html
    text = " ".join(story.text("description.txt").split())
    words = " ".join(story.printed.split())
    for k, said in enumerate(fit["descriptions"]):
        assert re.search(rf"Cluster {k} \([^:]*\): {re.escape(said)}", text)
        column = re.match(r"(?:higher|lower|more often|less often) (\w+)", said.split(". ", 1)[1].lower())[1]
        row = re.search(rf'<tr><th scope="row">(?:(?!</tr>).)* {k}</th>.*?</tr>', html, re.DOTALL)[0]
        assert column in row.lower()
        assert column in words.lower()


def test_the_rules_in_the_file_select_what_they_say(story, mixed):
    """The SQL runs on the table itself, read by SQLite with missing values as NULL."""
    cells = read_table(mixed).cells
    numbers = {column.name for column in read_table(mixed).columns if column.kind == "number"}
    with sqlite3.connect(":memory:") as base:
        base.execute(f"CREATE TABLE mixed ({', '.join(map(sql_name, cells))})")
        rows = zip(*([_stored(cell, name in numbers) for cell in of] for name, of in cells.items()), strict=True)
        base.executemany(f"INSERT INTO mixed VALUES ({', '.join('?' * len(cells))})", rows)
        script = story.text("rules.sql")
        counts = [len(base.execute(query).fetchall()) for query in script.split(";")[:-1]]
    assert counts == [rule["n_rows"] for rule in story.fit["rules"]]


def _stored(cell, number):
    return None if cell is None else float(cell) if number else str(cell)


def test_known_classes_are_cross_tabulated(story):
    known, labels = story.fit["known"], np.array(story.labels)
    classes = np.array(read(story.folder / "completed.csv")["species"])
    for word, counts in zip(known["classes"], known["counts"], strict=True):
        mine = labels[classes == word]
        assert counts == [*(int((mine == k).sum()) for k in range(story.fit["clusters"])), int((mine < 0).sum())]
    assert story.fit["ari"] == pytest.approx(adjusted_rand_score(classes, labels))


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
