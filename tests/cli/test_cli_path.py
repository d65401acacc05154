"""``fusewise path``: what the result was chosen from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli_helpers import SIZE, read
from sklearn.datasets import make_circles

from fusewise import FusionClustering, PenalizedFusion


def standardised(X):
    return (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)


def test_the_candidates_and_the_choice_of_the_default(run, table, numbers):
    ran = run("path", table, "--json")
    assert ran.code == 0, ran.err
    choice = FusionClustering().fit(standardised(numbers[0])).path_
    steps = [step for step in ran.json["steps"] if step["criterion"] is not None]
    assert [step["criterion"] for step in steps] == pytest.approx(choice.criteria[::-1], abs=1e-4)  # nats
    for step, labels in zip(steps, choice.partitions[::-1], strict=True):
        assert step["sizes"] == sorted(np.bincount(labels).tolist(), reverse=True)
    chosen = ran.json["steps"][ran.json["chosen"]]
    assert chosen["criterion"] == max(step["criterion"] for step in steps)
    assert chosen["clusters"] == 3


def test_the_paper_s_path(run, table, numbers):
    ran = run("path", table, "--sigma", "0.5", "--json")
    path = PenalizedFusion(penalty="h1").set_params(penalty__sigma=0.5).fit(standardised(numbers[0])).path_
    assert [step["lam"] for step in ran.json["steps"]] == pytest.approx(path.lams)
    assert [step["clusters"] for step in ran.json["steps"]] == path.n_clusters.tolist()


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


def test_two_partitions_never_have_the_same_lam(run):
    """The tree joins the two rings only at its root, so 3, 2 and 1 clusters would all begin at the same lam."""
    X, _ = make_circles(400, noise=0.05, factor=0.4, random_state=0)
    np.savetxt("rings.csv", X, delimiter=",", header="a,b", comments="")
    out = run("path", "rings.csv").out
    printed = [line.split()[:2] for line in out.splitlines() if "█" in line]
    numbers = [lam for lam, _ in printed if lam != "–"]
    assert len(set(numbers)) == len(numbers)
    assert printed[-1][1] == "1"
    assert printed[-1][0] != "–"
    assert "no lam gives this partition" in out
    steps = run("path", "rings.csv", "--force", "--json").json["steps"]
    assert [step["lam"] is None for step in steps[-len(printed) :]] == [lam == "–" for lam, _ in printed]


def test_the_choice_is_marked(run, table):
    out = run("path", table).out
    marked = [line for line in out.splitlines() if "◀ chosen" in line]
    assert len(marked) == 1
    assert marked[0].split()[1] == "3"
    assert "table_path.csv" in out


def test_a_picture(run, table):
    pytest.importorskip("matplotlib")
    assert run("path", table, "--picture", "p.png", "--out", "p.csv").code == 0
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    ran = run("path", table, "--picture", "p.docx", "--out", "q.csv")
    assert ran.code == 2
    assert "--picture: Format 'docx' is not supported" in ran.err
    assert not Path("q.csv").exists()
