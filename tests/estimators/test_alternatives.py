"""Other numbers of clusters: how near they come, why there is only one, and fit indices by published formulas."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

import fusewise
from fusewise import FusionClustering, load
from fusewise.automatic._alternatives import best_cut
from fusewise.datasets import hide_entries, make_clusters
from fusewise.estimators._stability import fit_indices


def two_near(gap, n=60, seed=0):
    """Two clusters whose distance decides whether they are one."""
    return np.random.default_rng(seed).normal(size=(2 * n, 2)) + np.repeat([[0, 0], [gap, 0]], n, axis=0)


@pytest.fixture(scope="module")
def tie():
    """A table whose criterion hardly tells one cluster from two."""
    for gap in np.arange(3.0, 4.5, 0.1):
        model = FusionClustering().fit(X := two_near(gap))
        criteria = model.path_.criteria
        if abs(criteria[0] - max(criteria[1:])) < 3 and model.alternatives():
            return X
    raise AssertionError("no tie")


def test_a_near_tie_is_listed_with_its_gain_and_labels(tie):
    model = FusionClustering().fit(tie)
    others = model.alternatives()
    (other,) = (a for a in others if a.n_clusters == 3 - model.n_clusters_)
    criteria = model.path_.criteria
    assert other.gain == pytest.approx(criteria[other.n_clusters - 1] - criteria[model.n_clusters_ - 1])
    assert -2 * other.error <= other.gain <= 0
    assert other.per_row == pytest.approx(other.gain / len(tie))
    asked = FusionClustering(n_clusters=other.n_clusters).fit(tie).labels_
    assert adjusted_rand_score(other.labels, asked) > 0.9
    assert other.sizes == sorted(other.sizes, reverse=True)
    assert f"{other.n_clusters} cluster" in repr(other)


def test_alternatives_obey_hints(tie):
    far = [(int(tie[:, 0].argmin()), int(tie[:, 0].argmax()))]
    free = FusionClustering().fit(tie)
    assert 1 in {free.n_clusters_, *(other.n_clusters for other in free.alternatives())}
    apart = FusionClustering().fit(tie, cannot_link=far)
    assert 1 not in {apart.n_clusters_, *(other.n_clusters for other in apart.alternatives())}
    together = FusionClustering().fit(tie, must_link=far)
    for other in together.alternatives():
        assert other.labels[far[0][0]] == other.labels[far[0][1]]


def test_clear_clusters_have_no_alternative():
    assert FusionClustering().fit(two_near(12.0)).alternatives() == []


def test_a_number_that_was_given_may_be_worse_than_another():
    X = np.vstack([two_near(12.0, n=40), two_near(12.0, n=40) + np.array([0, 12.0])])
    others = FusionClustering(n_clusters=5).fit(X).alternatives()
    assert others[0].n_clusters == 4
    assert others[0].gain > 0


def test_one_cluster_says_what_the_best_cut_would_be():
    model = FusionClustering().fit(np.random.default_rng(0).normal(size=(150, 4)))
    cut, criteria = best_cut(model.path_), model.path_.criteria
    assert model.n_clusters_ == 1
    assert sum(cut.sizes) == cut.n_rows == 150
    assert cut.short == pytest.approx(criteria[0] - max(criteria[1:]))
    assert not cut.joined
    assert best_cut(FusionClustering().fit(two_near(12.0)).path_) is None


def test_saved_models_and_new_fits(tie, tmp_path):
    model = FusionClustering().fit(tie)
    model.save(tmp_path / "before.fusewise")
    found = model.alternatives()
    model.save(tmp_path / "after.fusewise")
    for name in ("before", "after"):
        again = fusewise.load(tmp_path / f"{name}.fusewise").alternatives()
        assert [a.gain for a in again] == [a.gain for a in found] != []
        np.testing.assert_array_equal(again[0].labels, found[0].labels)
    assert model.fit(two_near(12.0)).alternatives() == []


@pytest.mark.parametrize("k", [1, 2, 3])
def test_formulas_are_those_of_scikit_learn(k):
    X = make_clusters(3, 40, 2, noise=0.4, random_state=0)[0]
    mixture = GaussianMixture(k, random_state=0).fit(X)
    found = fit_indices(mixture._estimate_weighted_log_prob(X), mixture._n_parameters())
    assert found["log_likelihood"] == pytest.approx(mixture.score(X) * 120)
    assert found["aic"] == pytest.approx(mixture.aic(X))
    assert found["bic"] == pytest.approx(mixture.bic(X))
    shares = np.maximum(mixture.predict_proba(X), 1e-300)
    entropy = -np.sum(shares * np.log(shares))
    assert found["icl"] == pytest.approx(mixture.bic(X) + 2 * entropy)
    assert found["entropy_r2"] == pytest.approx(1 - entropy / (120 * np.log(k)) if k > 1 else 1)


@pytest.mark.parametrize("hidden", [0.0, 0.3])
def test_every_number_that_was_compared(hidden, tmp_path):
    X = hide_entries(make_clusters(3, [40, 30, 20], 8, noise=0.05, random_state=0)[0], hidden, random_state=0)
    model = FusionClustering().fit(X * 1000)
    frame = model.alternatives().to_frame()
    assert len(frame) == len(model.path_.criteria)
    best = frame[frame["chosen"]].iloc[0]
    assert best["n_clusters"] == frame["n_clusters"][frame["bic"].argmin()] == 3
    assert best["entropy_r2"] > 0.95
    assert best["smallest_share"] == pytest.approx(20 / 90, abs=0.03)
    entries = np.sum(~np.isnan(X))
    assert best["log_likelihood"] / entries == pytest.approx(model.score(X * 1000), abs=0.05)
    model.save(tmp_path / "m")
    pd.testing.assert_frame_equal(load(tmp_path / "m").alternatives().to_frame(), frame)


def test_levels_of_categories_are_parameters():
    """Of K classes of two columns with 3 and 2 levels: K (2 + 1) level shares and K - 1 shares."""
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    words = {
        "a": np.array(list("xyz"))[np.where(random.random(120) < 0.9, y, random.integers(3, size=120))],
        "b": np.array(list("pq"))[np.where(random.random(120) < 0.9, y, 1 - y)],
    }
    frame = FusionClustering().fit(pd.DataFrame(words)).alternatives().to_frame()
    assert frame["parameters"][:2].tolist() == [3, 7]
