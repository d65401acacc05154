"""Names of clusters, gaps between them, stability without being asked, and reports without rows."""

import re
from pathlib import Path

import pytest
from cli_helpers import read
from typer.testing import CliRunner

import fusewise
from fusewise.cli._app import app


def test_names_are_in_every_export(run, table):
    pytest.importorskip("jinja2")
    ran = run("fit", table, "--out", "out", "--report", "--save", "m.fusewise", "--json")
    names = ran.json["names"]
    assert len(set(names)) == 3
    assert all(re.fullmatch(r"(high|low) [a-d](, (high|low) [a-d]){0,2}|[a-d] from .*", name) for name in names)
    labels = read(Path("out/labels.csv"))
    assert labels["cluster_name"] == [names[int(k)] if int(k) >= 0 else "" for k in labels["label"]]
    assert read(Path("out/centers.csv"))["name"] == names
    assert all(name in Path("out/report.html").read_text("utf-8") for name in names)
    run("predict", "m.fusewise", table, "--out", "new.csv")
    assert read(Path("new.csv"))["cluster_name"] == labels["cluster_name"]


def test_names_are_edited_in_a_file(run, table):
    run("fit", table, "--out", "first")
    text = Path("first/centers.csv").read_text("utf-8").splitlines()
    name = read(Path("first/centers.csv"))["name"][1]
    Path("names.csv").write_text('cluster;name\n1;"Ätna, red"\n', "utf-8")  # as a spreadsheet may save it
    ran = run("fit", table, "--out", "out", "--name-clusters", "names.csv", "--save", "m.fusewise")
    assert ran.code == 0, ran.err
    assert "Ätna, red" in ran.out
    centers = read(Path("out/centers.csv"))
    assert centers["name"][1] == "Ätna, red" != name
    assert centers["name"][0] == read(Path("first/centers.csv"))["name"][0]
    assert "Cluster 1 (Ätna, red):" in Path("out/description.txt").read_text("utf-8")
    run("predict", "m.fusewise", table, "--out", "new.csv")
    assert "Ätna, red" in read(Path("new.csv"))["cluster_name"]
    model = fusewise.load("m.fusewise")
    assert [cluster.name for cluster in model.describe().clusters] == centers["name"]
    assert "1: Ätna, red" in model.report("r.html").read_text("utf-8")
    assert len(text) == 4
    again = run("fit", table, "--out", "again", "--name-clusters", "out/centers.csv")
    assert again.code == 0, again.err
    assert read(Path("again/centers.csv"))["name"] == centers["name"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cluster,name\n7,x\n", "names cluster 7, but there are clusters 0 to 2"),
        ("cluster,name\nfirst,x\n", "row 1 of 'names.csv': 'first' is not the number of a cluster"),
        ("number,name\n1,x\n", "must have the columns 'cluster' and 'name'"),
        (None, "--name-clusters: file 'names.csv' does not exist"),
    ],
)
def test_a_wrong_file_of_names(run, table, text, said):
    if text is not None:
        Path("names.csv").write_text(text, "utf-8")
    ran = run("fit", table, "--out", "out", "--name-clusters", "names.csv")
    assert ran.code == 2
    assert said in " ".join(ran.err.split())
    assert not Path("out/labels.csv").exists()


def test_stability_is_computed_by_itself_where_that_is_quick(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(app, ["fit", str(table), "--out", "out"])
    assert "fitted again 20 times" in " ".join(ran.output.split())
    assert all(0 <= float(value) <= 1 for value in read(Path("out/labels.csv"))["stability"])
    assert not Path("out/stability.csv").exists()
    ran = CliRunner().invoke(app, ["fit", str(table), "--out", "other", "--no-stability"])
    assert "fitted again" not in ran.output
