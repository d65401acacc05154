"""``fusewise path``: the paper's algorithm along lam."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli_helpers import SIZE, read
from sklearn.metrics import adjusted_rand_score

from fusewise import PenalizedFusion
from fusewise.fidelity import Ball
from fusewise.penalties import H1, MCP


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


def test_a_picture(run, table):
    pytest.importorskip("matplotlib")
    assert run("path", table, "--picture", "p.png", "--out", "p.csv").code == 0
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    ran = run("path", table, "--picture", "p.docx", "--out", "q.csv")
    assert ran.code == 2
    assert "--picture: Format 'docx' is not supported" in ran.err
    assert not Path("q.csv").exists()
