"""``fusewise fit``: what it writes is right, in the user's units, named, and complete."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import CENTERS, SIZE, STEADY, read, write
from sklearn.metrics import adjusted_rand_score
from typer.testing import CliRunner

import fusewise
from fusewise.cli import main
from fusewise.cli._app import app


def test_writes_labels_completed_and_centers(run, table, numbers):
    ran = run("fit", table, "--out", "out", *STEADY)
    assert ran.code == 0, ran.err
    labels = read(Path("out/labels.csv"))
    assert labels["row"] == [str(i + 1) for i in range(3 * SIZE)]
    assert adjusted_rand_score(numbers[1], labels["label"]) == 1
    centers = read(Path("out/centers.csv"))
    assert centers["size"] == ["12", "12", "12"]
    found = np.array([centers[name] for name in "abcd"], dtype=float).T
    order = np.argsort(found[:, 0])
    # Centres are shrunk towards each other a little: within a tenth of the distance between the outer ones.
    np.testing.assert_array_less(np.abs(found[order] - CENTERS), 0.1 * np.ptp(CENTERS, axis=0) * np.ones((3, 1)))


def test_observed_values_are_unchanged_and_missing_ones_are_filled_from_the_cluster(run, table, numbers):
    X, y = numbers
    assert run("fit", table, "--out", "out", *STEADY).code == 0
    before, after = read(table), read(Path("out/completed.csv"))
    assert list(after) == list(before)
    filled = np.array([after[name] for name in "abcd"], dtype=float).T
    seen = ~np.isnan(X)
    assert all(b == a for name in "abcd" for b, a in zip(before[name], after[name], strict=True) if b)
    away = np.abs(filled - CENTERS[y]) / np.ptp(CENTERS, axis=0)
    assert away[~seen].max() < 0.1


def test_mixed_columns_are_recognised_and_said(run, mixed):
    ran = run("fit", mixed, "--out", "out", *STEADY, "--json")
    assert ran.code == 0, ran.err
    columns = ran.json["columns"]
    assert (columns["names"], columns["labels"]) == ("sample", "species")
    assert columns["numbers"] == ["a", "b", "c", "d", "day (days since 2020-01-01)"]
    assert [(c["name"], c["kind"], c["categories"]) for c in columns["encoded"]] == [
        ("colour", "category", ["blue", "green", "red"]),
        ("wet", "flag", ["no", "Yes"]),
    ]
    reasons = {c["name"]: c["reason"] for c in columns["unused"]}
    assert reasons["remark"] == "text with 30 distinct values in 36 rows: too many for categories"
    assert reasons["place"] == "constant: every observed value is 'here'"
    assert reasons["blank"] == "all values are missing"
    assert "row 4 contains '~1'" in reasons["assay"]
    assert ran.json["encoded_features"] == 5 + 3 + 2
    assert ran.json["ari"] == 1


def test_categories_are_completed_by_the_likeliest_and_unused_columns_pass_through(run, mixed, numbers):
    run("fit", mixed, "--out", "out", *STEADY)
    before, after = read(mixed), read(Path("out/completed.csv"))
    assert after["colour"] == [("red", "green", "blue")[k] for k in numbers[1]]
    assert after["wet"] == [("Yes", "no", "no")[k] for k in numbers[1]]
    for name in ("sample", "species", "day", "remark", "place", "blank", "assay"):
        assert after[name] == before[name]
    assert read(Path("out/labels.csv"))["sample"] == before["sample"]
    assert {"colour=red", "colour=green", "colour=blue", "wet=Yes"} <= set(read(Path("out/centers.csv")))


def test_centers_are_beside_what_was_observed(run, mixed):
    """Means, medians and shares of the rows that the labels name, by the standard library."""
    run("fit", mixed, "--out", "out", *STEADY)
    rows, centers, labels = read(mixed), read(Path("out/centers.csv")), read(Path("out/labels.csv"))["label"]
    for k in centers["cluster"]:
        mine = [i for i, label in enumerate(labels) if label == k]
        numbers = [float(rows["a"][i]) for i in mine if rows["a"][i]]
        assert float(centers["a (observed mean)"][int(k)]) == pytest.approx(statistics.mean(numbers), rel=1e-3)
        assert float(centers["a (observed median)"][int(k)]) == pytest.approx(statistics.median(numbers), rel=1e-3)
        words = [rows["colour"][i] for i in mine if rows["colour"][i]]
        share = words.count("red") / len(words)
        assert float(centers["colour=red (observed share)"][int(k)]) == pytest.approx(share, abs=1e-4)


def test_the_label_column_never_influences_the_fit(run, mixed):
    run("fit", mixed, "--out", "with", *STEADY)
    header, *rows = mixed.read_text().splitlines()
    k = header.split(",").index("species")
    shuffled = [",".join([*(f := row.split(","))[:k], "XYZ"[i % 3], *f[k + 1 :]]) for i, row in enumerate(rows)]
    mixed.write_text("\n".join([header, *shuffled]))
    ran = run("fit", mixed, "--out", "other", "--json", *STEADY)
    assert Path("with/labels.csv").read_text() == Path("other/labels.csv").read_text()
    assert ran.json["ari"] < 0.2


def test_labels_none_makes_the_class_a_feature(run, mixed):
    encoded = run("fit", mixed, "--labels", "none", "--json").json["columns"]["encoded"]
    assert "species" in [column["name"] for column in encoded]


def test_without_outliers_every_row_has_a_cluster(run, tmp_path, numbers):
    rows = np.vstack([numbers[0], [[1e6, -1e6, 1e3, 1e4]], [[np.nan] * 4]])
    path = write(tmp_path / "t.csv", "abcd", rows)
    assert run("fit", path, "--out", "with").code == 0
    assert read(Path("with/labels.csv"))["label"][-2:] == ["-1", "-1"]
    ran = run("fit", path, "--out", "without", "--no-outliers", "--json")
    assert "-1" not in read(Path("without/labels.csv"))["label"]
    assert "assigned to the likeliest cluster" in ran.json["notes"][0]


def test_names_are_not_read_as_markup(run, mixed):
    """Rich would take [/x] for the end of a style, and end in an error."""
    text = mixed.read_text().replace("species", "[/x]").replace("colour", "[red]").replace("remark", "[/]")
    Path("odd[b].csv").write_text(text)
    ran = run("fit", "odd[b].csv", "--out", "out[/i]", "--labels", "[/x]", *STEADY)
    assert ran.code == 0
    for name in ("odd[b].csv", "out[/i]/labels.csv", "with '[/x]'", "[red]", "[/]"):
        assert name in ran.out


def test_no_column_is_lost_to_another_of_its_name(run, tmp_path, numbers):
    """A column may be called as a category of another, or as what labels.csv holds."""
    X, y = np.nan_to_num(numbers[0]), numbers[1]
    names = [f"n{i}" for i in range(len(X))]
    rows = [[name, *row[:2], "xyz"[k]] for name, row, k in zip(names, X, y, strict=True)]
    path = write(tmp_path / "t.csv", ["confidence", "a", "k=x", "k"], rows)
    assert run("fit", path, "--out", "out").code == 0
    assert read(Path("out/labels.csv"))["confidence_"] == names
    names = [name for name in read(Path("out/centers.csv")) if "(observed" not in name]
    assert names == ["cluster", "size", "name", "a", "k=x", "k=x_", "k=y", "k=z"]


@pytest.mark.parametrize(("options", "names"), [([], "respondent"), (["--names", "none"], None)])
def test_row_names_can_be_declined(run, tmp_path, numbers, options, names):
    rows = [[1000 + i, *row] for i, row in enumerate(numbers[0])]
    path = write(tmp_path / "t.csv", ["respondent", *"abcd"], rows)
    ran = run("fit", path, "--out", "out", "--json", *options)
    assert ran.json["columns"]["names"] == names


def test_quiet_says_nothing_and_verbose_more(run, table):
    quiet = run("fit", table, "--out", "one", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    assert Path("one/labels.csv").exists()
    assert "comparing partitions" in run("fit", table, "--out", "two", "--verbose").err


def test_stability_is_printed_and_written(run, table):
    ran = run("fit", table, "--out", "out", "--stability", "--draws", "2", "--n-clusters", "3", "--save", "m.fusewise")
    assert ran.code == 0, ran.err
    assert "fitted again 2 times, each time to a random part of the rows" in " ".join(ran.out.split())
    rows, clusters = read(Path("out/labels.csv")), read(Path("out/stability.csv"))
    assert all(0 <= float(share) <= 1 for share in rows["stability"])
    assert clusters["cluster"] == ["0", "1", "2"]
    judged = fusewise.load("m.fusewise").stability_
    np.testing.assert_allclose([float(value) for value in clusters["stability"]], judged.clusters, atol=1e-4)
    said = run("fit", table, "--out", "other", "--stability", "--draws", "2", "--n-clusters", "3", "--json").json
    assert said["stability"]["numbers_of_clusters"] == {"3": 2}
    np.testing.assert_allclose(said["stability"]["clusters"], judged.clusters)
    assert said["number"].startswith("3 clusters, as requested; ")


def test_stability_of_too_few_rows_is_refused(run, tmp_path):
    path = write(tmp_path / "few.csv", ["a", "b"], [[1, 2], [3, 4], [5, 7]])
    ran = run("fit", path, "--out", "out", "--stability")
    assert ran.code == 2
    assert "half of the 3 rows, which is too few" in ran.err
    assert not Path("out").exists()
    with pytest.raises(SystemExit) as ended:  # not asked for, it is left out
        main(["fit", str(path), "--out", "out", "--quiet"])
    assert not ended.value.code
    assert Path("out/labels.csv").exists()


def test_open_writes_the_report_and_opens_it(run, table, tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    assert run("fit", table, "--open", "--quiet").code == 0
    page = tmp_path / "table_fusewise" / "report.html"
    assert opened == [page.as_uri()]
    assert page.exists()
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    assert "no browser was found" in run("fit", table, "--open", "--quiet", "--force").err


def test_columns_count_as_often_as_said(run, mixed):
    """A weight of zero leaves a column out, in the fit and for new rows; patterns, and what is no weight."""
    assert run("fit", mixed, "--drop", "a", "--out", "without", *STEADY).code == 0
    ran = run("fit", mixed, "--weight", "a=0,colour=1", "--weight", "wet=1", "--out", "zero", "--save", "m", *STEADY)
    assert ran.code == 0, ran.err
    assert read(Path("zero/labels.csv")) == read(Path("without/labels.csv"))
    assert run("predict", "m", mixed, "--out", "again.csv").code == 0
    assert read(Path("again.csv"))["label"] == read(Path("zero/labels.csv"))["label"]
    assert run("fit", mixed, "--weight", "[ab]=2.5", "--out", "more", "--save", "n", *STEADY).code == 0
    assert fusewise.load("n").feature_weights == {"[ab]": 2.5}
    for weight, said in (
        ("a", "--weight 'a': expected a column, '=' and a number of at least 0"),
        ("a=-1", "--weight 'a=-1': expected a column"),
        ("a=much", "--weight 'a=much': expected a column"),
        ("a=nan", "--weight 'a=nan': expected a column"),
        ("colr=2", "the table has no column 'colr' (did you mean 'colour'?)"),
    ):
        wrong = run("fit", mixed, "--weight", weight, "--out", "wrong")
        assert wrong.code == 2
        assert said in " ".join(wrong.err.split())
        assert not Path("wrong").exists()


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
