"""Other numbers of clusters: how near they come, and why there is only one."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import fusewise
from fusewise import FusionClustering
from fusewise.automatic._alternatives import best_cut


def two_near(gap, n=60, seed=0):
    """Two clusters whose distance decides whether they are one."""
    return np.random.default_rng(seed).normal(size=(2 * n, 2)) + np.repeat([[0, 0], [gap, 0]], n, axis=0)


@pytest.fixture(scope="module")
def tie():
    """A table whose criterion hardly tells one cluster from two."""
    for gap in np.arange(3.0, 4.5, 0.1):
        criteria = FusionClustering().fit(X := two_near(gap)).path_.criteria
        if abs(criteria[0] - max(criteria[1:])) < 3:
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
