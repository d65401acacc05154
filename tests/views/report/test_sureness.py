"""How sure the result is, in words and on the page."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from fusewise import FusionClustering, PenalizedFusion
from fusewise.automatic.alternatives import Alternative, Cut
from fusewise.automatic.stability import Stability
from fusewise.penalties import H1
from fusewise.views import certainty
from fusewise.views.findings import read_findings
from fusewise.views.report import render
from fusewise.views.sentences import path_sentence


@pytest.fixture(scope="module")
def one():
    return FusionClustering().fit(np.random.default_rng(0).normal(size=(120, 4)))


def test_one_cluster_says_why_and_what_to_try(one):
    criteria = one.path_.criteria
    best = int(np.argmax(criteria[1:])) + 1
    small, large = sorted(np.bincount(one.path_.partitions[best]))
    said = certainty.number_sentence(read_findings(one))
    assert said.startswith(f"1 cluster: no split is supported. The best would separate {small} from {large} rows, and ")
    assert float(re.search(r"falls ([\d.]+) short", said)[1]) == pytest.approx(criteria[0] - criteria[best], rel=0.01)
    assert said.endswith("set n_clusters=2.")
    assert certainty.number_sentence(read_findings(one), "--n-clusters ").endswith("set --n-clusters 2.")


def test_rivals_in_words(model, monkeypatch):
    found = read_findings(model)
    labels = np.zeros(75, int)
    others = [Alternative(2, -1.6, 7.2, -0.02, labels), Alternative(5, 3.0, 4.0, 0.04, labels)]
    monkeypatch.setattr(model, "_others", tuple(others))
    assert certainty.number_sentence(found) == (
        "3 clusters; 5 is better (its penalised log-likelihood is 3 higher, 0.04 per row, standard error 4); 2 is "
        "nearly as good (its penalised log-likelihood falls 1.6 short, 0.02 per row, standard error 7.2)."
    )
    others = [Alternative(k, gain, error, -0.1, labels) for k, gain, error in [(5, -9, 7), (2, -1.6, 7.2), (4, -3, 5)]]
    monkeypatch.setattr(model, "_others", tuple(others))
    assert certainty.number_sentence(found) == (
        "3 clusters; 2, 4 and 5 are nearly as good (their penalised log-likelihoods fall 1.6 to 9 short, standard "
        "errors 5 to 7.2)."
    )
    monkeypatch.setattr(model, "_others", ())
    assert certainty.number_sentence(found) == "3 clusters; no other number is nearly as good."


def test_of_mixed_tables_the_smallest_number_that_gains_enough_is_explained():
    """Neither the sentence nor the path says that a number is best whose criterion is not the largest."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    kind = np.repeat([0, 1, 2], [100, 70, 30])
    centers = np.array([[0.0] * 5, [12.0] * 5, [12.0] * 4 + [21.0]])
    frame = pandas.DataFrame(centers[kind] + rng.normal(size=(200, 5)), columns=list("abcde"))
    frame["f"] = np.array(["x", "y", "y"])[kind]
    model = FusionClustering().fit(frame)
    found, criteria = read_findings(model), np.array(model.path_.criteria)
    said = certainty.number_sentence(found)
    assert criteria[model.path_.chosen] < criteria.max()
    gains = criteria - criteria[0]
    assert model.n_clusters_ == 1 + int(np.argmax(gains >= 0.9 * gains.max()))
    number = f"{model.n_clusters_} clusters, the smallest number that reaches 90% of the largest gain in penalised "
    assert said.startswith(number)
    assert "better" not in said
    assert "has the largest value" not in path_sentence(found)
    assert "with the fewest groups that reaches 90% of the largest gain" in path_sentence(found)


def test_a_number_that_was_requested():
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0], [9.0]], 30, axis=0)
    said = [certainty.number_sentence(read_findings(FusionClustering(n_clusters=k).fit(X))) for k in (1, 2)]
    assert said == ["1 cluster, as requested.", "2 clusters, as requested; no smaller number is nearly as good."]


def test_splits_that_are_near_or_have_no_valley():
    near = SimpleNamespace(n_clusters=2)
    said = certainty._why_one(Cut((40, 138), 12.0, joined=False, n_rows=178), [near], "n_clusters=")
    assert said == (
        "1 cluster; a split is nearly as good: it would separate 40 from 138 rows, and its penalised log-likelihood "
        "falls 12 short (0.067 per row). To see it, set n_clusters=2."
    )
    said = certainty._why_one(Cut((20, 30, 50), -5.0, joined=True, n_rows=100), [], "n_clusters=")
    assert said == (
        "1 cluster: 3 groups of 20, 30 and 50 rows describe the table better, but there is no valley of lower density "
        "between them. To see them apart, set n_clusters=3."
    )


def test_the_page_shows_alternatives_and_stability(model, monkeypatch):
    page = render(read_findings(model), title="t", file="t.html")
    assert certainty.number_sentence(read_findings(model)) in page
    assert "stability of the clusters was not computed" in page
    monkeypatch.setattr(model, "_others", (Alternative(2, -1.6, 7.2, -0.02, np.repeat([0, 1], [50, 25])),))
    judged = Stability(np.array([0.9, 0.7, 0.4]), np.ones(75), np.ones(75), {3: 18, 2: 2}, 20, 0.1)
    monkeypatch.setattr(model, "stability_", judged, raising=False)
    page = render(read_findings(model), title="t", file="t.html")
    assert "2 is nearly as good" in page
    assert '<td class="list">50, 25</td><td class="number">−1.6</td><td class="number">7.2</td>' in page
    assert "fitted again 20 times, each time to a random half of the rows (at most 5,000), with 10% of the" in page
    assert "observed values hidden: it found 3 clusters in 18 fits and 2 clusters in 2 fits." in page
    assert [word for word in ("highly stable", "doubtful", "not stable") if f"<td>{word}</td>" in page] == [
        "highly stable", "doubtful", "not stable",
    ]  # fmt: skip
    assert "stability of the clusters was not computed" not in page


def test_the_plain_algorithm_says_that_it_compares_nothing():
    found = read_findings(PenalizedFusion(0.1, penalty=H1(0.3)).fit(np.eye(4)))
    assert certainty.number_sentence(found) == "The paper's algorithm does not compare numbers of clusters."
    assert certainty.rivals(found) == certainty.stable_clusters(found) == []
