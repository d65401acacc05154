"""``fusewise path`` and ``guarantee``: the paper's algorithm and theory, with the library's numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli_helpers import SIZE, read, write
from sklearn.metrics import adjusted_rand_score

from fusewise import PenalizedFusion
from fusewise.datasets import hide_entries, make_clusters
from fusewise.fidelity import Ball
from fusewise.penalties import H1, MCP
from fusewise.theory import ClusterGeometry, required_sampling, success_probability


def standardised(X):
    return (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)


def test_the_paper_s_path(run, table, numbers):
    ran = run("path", table, "--sigma", "0.5", "--json")
    model = PenalizedFusion(penalty="h1").set_params(penalty__sigma=0.5).fit(standardised(numbers[0]))
    assert [step["lam"] for step in ran.json["steps"]] == pytest.approx(model.path_.lams)
    assert [step["clusters"] for step in ran.json["steps"]] == model.path_.n_clusters.tolist()
    chosen = ran.json["steps"][ran.json["chosen"]]
    assert chosen["stays"] == max(step["stays"] for step in ran.json["steps"] if step["clusters"] > 1)
    assert chosen["lam"] == pytest.approx(model.lam_)


def test_the_chosen_partition_is_written(run, table, numbers):
    assert run("path", table, "--sigma", "0.5", "--n-clusters", "3", "--partition", "rows.csv").code == 0
    model = PenalizedFusion(penalty=H1(0.5), n_clusters=3).fit(standardised(numbers[0]))
    assert read(Path("rows.csv"))["label"] == [str(label) for label in model.labels_]
    assert adjusted_rand_score(numbers[1], model.labels_) > 0.9


def test_options_reach_the_model(run, table, numbers):
    """A single lam, in the units of the table: the same objective as in Python, and so the same groups."""
    options = "--penalty mcp --sigma 20 --fidelity ball --epsilon 4 --neighbors 5 --max-iter 200 --no-standardize"
    ran = run("path", table, *options.split(), "--lam", 1, "--n-clusters", 3, "--partition", "rows.csv", "--json")
    assert ran.code == 0, ran.err
    model = PenalizedFusion(1.0, penalty=MCP(20.0), fidelity=Ball(4.0), n_neighbors=5, max_iter=200, n_clusters=3)
    labels = model.fit(numbers[0]).labels_
    assert read(Path("rows.csv"))["label"] == [str(label) for label in labels]
    assert [step["lam"] for step in ran.json["steps"]] == [1.0]


def test_what_was_asked_for_and_not_got_is_noted(run, table):
    ran = run("path", table, "--n-clusters", "9", "--lam", "1000", "--json")
    assert any("9 clusters were requested" in note for note in ran.json["notes"])
    ran = run("path", table, "--max-iter", "1", "--lam", "1", "--json", "--force")
    assert any("increase --max-iter" in note for note in ran.json["notes"])


@pytest.mark.parametrize("options", [[], ["--sigma", "0.5"], ["--fidelity", "ball"]])
def test_the_file_is_what_is_printed(run, table, options):
    steps = (ran := run("path", table, "--json", *options)).json["steps"]
    written = read(Path("table_path.csv"))
    assert [float(lam) if lam else None for lam in written["lam"]] == [step["lam"] for step in steps]
    assert [list(map(int, sizes.split())) for sizes in written["sizes"]] == [step["sizes"] for step in steps]
    assert [k for k, word in enumerate(written["chosen"]) if word] == [ran.json["chosen"]]
    for step in steps:  # every row is in a group or alone
        assert sum(step["sizes"]) + step["alone"] == 3 * SIZE
    lams = [step["lam"] for step in steps if step["lam"] is not None]
    assert lams == sorted(set(lams))


@pytest.fixture
def tight(tmp_path):
    """Two narrow clusters in 20 features, half hidden, with their classes."""
    X, y, _ = make_clusters(2, 10, 20, noise=0.05, distribution="uniform", random_state=0)
    X = hide_entries(X, 0.5, random_state=0)
    path = write(tmp_path / "t.csv", [*(f"f{j}" for j in range(20)), "kind"], [[*x, "uv"[k]] for x, k in zip(X, y)])  # noqa: B905
    return path, X, y


PLAN = ["plan", "--clusters", "3", "--size", "200", "--features", "50", "--kappa", "0.4", "--coherence", "2"]


def test_plan_agrees_with_the_library(run):
    ran = run(*PLAN, "--observed", "0.5", "--json")
    study = ClusterGeometry.from_parameters(n_clusters=3, size=200, n_features=50, kappa=0.4, mu0=2)
    assert ran.code == 0
    assert ran.json["probability"] == pytest.approx(float(success_probability(study, 0.5)))
    assert ran.json["required_observed"] == pytest.approx(required_sampling(study, 0.95))
    chances = [point["probability"] for point in ran.json["curve"]]
    assert chances == sorted(chances)


def test_plan_without_a_promise_says_why(run):
    ran = run(*PLAN[:-4], "--kappa", "1.5", "--coherence", "2")
    assert ran.code == 0
    assert "kappa = 1.5 is not below 1" in " ".join(ran.out.split())
    assert "(--uniform)" in " ".join(ran.out.split())


@pytest.mark.parametrize(("option", "value", "message"), [
    ("--coherence", "60", "--coherence = 60 is out of range"),
    ("--kappa", "-1", "--kappa = -1 is out of range"),
    ("--clusters", "0", "--clusters = 0 is out of range"),
    ("--size", "0", "--size = 0 is out of range"),
    ("--features", "0", "--features = 0 is out of range"),
    ("--observed", "1.5", "--observed = 1.5 is out of range"),
    ("--target", "2", "--target = 2 is out of range"),
])  # fmt: skip
def test_plan_out_of_range(run, option, value, message):
    ran = run(*PLAN, option, value)
    assert ran.code == 2
    assert message in ran.err


def test_guarantee_measures_the_standardised_table(run, tight):
    path, X, y = tight
    ran = run("guarantee", path, "--labels", "kind", "--json")
    assert ran.code == 0, ran.err
    scaled = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    geometry = ClusterGeometry.from_data(scaled, y)
    assert ran.json["numbers"]["kappa"] == pytest.approx(geometry.kappa)
    assert ran.json["probability"] == pytest.approx(float(success_probability(geometry)))
    chances = [point["probability"] for point in ran.json["curve"]]
    assert chances == sorted(chances)
    plain = run("guarantee", path, "--labels", "kind", "--no-standardize", "--json")
    assert plain.json["numbers"]["epsilon"] <= 0.05


def test_guarantee_without_a_promise_says_why(run, tmp_path):
    write(tmp_path / "t.csv", ["a", "b", "kind"], [[0, 0, "u"], [9, 9, "v"], [8, 0, "u"], [9, 1, "v"]])
    ran = run("guarantee", "t.csv", "--labels", "kind")
    assert ran.code == 0
    assert "is not below 1" in " ".join(ran.out.split())
    assert "(--uniform)" in " ".join(ran.out.split())
    assert run("guarantee", "t.csv", "--labels", "kind", "--target", "2").err == (
        "fusewise: --target = 2 is out of range: it must lie in [0, 1]\n"
    )


def test_guarantee_takes_the_labels_fit_wrote(run, tight):
    path = tight[0]
    assert run("fit", path, "--out", "out", "--labels", "kind", "--n-clusters", "2").code == 0
    named = run("guarantee", path, "--labels", "kind", "--drop", "f0", "--json").json
    path.write_text(path.read_text().replace(",kind", ",class"))  # recognised, so not a feature here either
    found = run("guarantee", path, "--labels", "out/labels.csv", "--drop", "f0", "--json").json
    assert found["numbers"] == pytest.approx(named["numbers"])
    assert "2 clusters of 10 points each" in run("guarantee", path, "--labels", "out/labels.csv").out


def test_guarantee_matches_rows_by_name(run, tmp_path):
    write(tmp_path / "t.csv", ["id", "a", "b"], [["p", 0, 0], ["q", 9, 9], ["r", 0.1, 0], ["s", 9, 9.1]])
    write(tmp_path / "l.csv", ["id", "label"], [["s", 1], ["r", 0], ["q", 1], ["p", 0]])
    assert run("guarantee", "t.csv", "--labels", "l.csv", "--json").json["numbers"]["kappa"] < 1


@pytest.mark.parametrize(("labels", "message"), [
    ("nowhere", "neither a file nor a column"),
    ("short.csv", "has 1 label, but"),
    ("none.csv", "no row has a label"),
])  # fmt: skip
def test_guarantee_without_usable_labels(run, tight, tmp_path, labels, message):
    (tmp_path / "short.csv").write_text("label\n1\n")
    (tmp_path / "none.csv").write_text("label\n" + "-1\n" * 20)
    ran = run("guarantee", tight[0], "--labels", labels)
    assert ran.code == 2
    assert message in ran.err
