"""``PenalizedFusion``, the paper's algorithm, as a scikit-learn user meets it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from fusewise import DataWarning, PenalizedFusion, fuse, fusion_path
from fusewise.datasets import hide_entries, make_clusters
from fusewise.fidelity import Ball, Box
from fusewise.penalties import H1, Lp


@pytest.fixture(scope="module")
def fitted(clusters):
    return PenalizedFusion(0.5, penalty=H1(0.3)).fit(clusters[0])


def test_at_a_given_lam_it_is_fuse(clusters, fitted):
    solution = fuse(clusters[0], lam=0.5, penalty=H1(0.3), n_neighbors=None)
    np.testing.assert_allclose(fitted.fused_, solution.centers)
    assert fitted.objective_ == pytest.approx(solution.objective)
    assert (fitted.lam_, fitted.penalty_, fitted.path_) == (0.5, H1(0.3), None)
    assert fitted.n_iter_ == solution.n_iter
    assert fitted.converged_
    together = solution.labels[:, None] == solution.labels
    alone = together.sum(axis=1) == 1
    np.testing.assert_array_equal(fitted.labels_ == -1, alone)
    clustered = ~alone
    assert adjusted_rand_score(fitted.labels_[clustered], solution.labels[clustered]) == 1.0


def test_at_auto_it_is_the_partition_of_the_path_that_stays_longest(clusters):
    X, y = clusters
    model = PenalizedFusion().fit(X)
    path = model.path_
    assert adjusted_rand_score(y, model.labels_) > 0.95
    again = fusion_path(X, lams=path.lams, penalty=model.penalty_, n_neighbors=None, min_cluster_size=2)
    keys = [labels.tobytes() if k >= 2 else None for labels, k in zip(again.labels, again.n_clusters, strict=True)]
    most = max(keys.count(key) for key in keys if key)
    assert keys.count(model.labels_.tobytes()) == most
    assert np.diff(path.lams).min() > 0


def test_given_a_number_of_clusters(clusters):
    X, y = clusters
    for k in (1, 2, 3, 5):
        assert PenalizedFusion(n_clusters=k).fit(X).n_clusters_ == k
    assert adjusted_rand_score(y, PenalizedFusion(n_clusters=3).fit_predict(X)) == 1.0
    free = PenalizedFusion(0.1, penalty=H1(0.1)).fit(X)
    assert free.n_clusters_ >= 3
    assert PenalizedFusion(0.1, penalty=H1(0.1), n_clusters=2).fit(X).n_clusters_ == 2
    with pytest.warns(ConvergenceWarning, match="80 clusters were requested, but only"):
        PenalizedFusion(0.5, penalty=H1(0.3), n_clusters=80).fit(X)


@pytest.mark.parametrize("fidelity", ["box", "ball", Box(0.2), Ball(0.14)])
def test_constrained_forms(fidelity):
    X, y, _ = make_clusters(3, 30, 10, noise=0.03, random_state=0)
    model = PenalizedFusion(fidelity=fidelity).fit(hide_entries(X, 0.2, random_state=0))
    offset = np.abs(model.observations_.residual(model.fused_))
    if isinstance(model.fidelity_, Box):
        assert offset.max() <= model.fidelity_.epsilon / 2 + 1e-9
    else:
        assert (np.linalg.norm(offset, axis=1) <= model.fidelity_.radius + 1e-9).all()
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_in_a_subspace_and_along_a_graph(clusters):
    X, y = clusters
    model = PenalizedFusion(rank="auto", n_neighbors=15, init="subspace", random_state=0).fit(X)
    assert 1 <= model.rank_ < 10
    assert adjusted_rand_score(y, model.labels_) > 0.9
    given = PenalizedFusion(rank=model.rank_, n_neighbors=15, init="subspace").fit(X)
    np.testing.assert_array_equal(given.labels_, model.labels_)


def test_predict_transform_and_score_are_by_distances_to_centres(clusters, fitted):
    """On complete rows: Euclidean distances to the centres, in the units of the table."""
    rows = np.random.default_rng(0).normal(size=(7, 10))
    distances = np.linalg.norm(rows[:, None] - fitted.cluster_centers_, axis=2)
    np.testing.assert_allclose(fitted.transform(rows), distances)
    np.testing.assert_array_equal(fitted.predict(rows), distances.argmin(axis=1))
    assert fitted.score(rows) == pytest.approx(-np.mean(distances.min(axis=1) ** 2) / 10)
    rows[0, 2:] = np.nan
    half = np.sqrt(10 / 2 * np.square(rows[0, :2] - fitted.cluster_centers_[:, :2]).sum(axis=1))
    np.testing.assert_allclose(fitted.transform(rows)[0], half)
    rows[1] = np.nan
    with pytest.warns(DataWarning, match="row 1"):
        assert fitted.predict(rows)[1] == -1


def test_where_nothing_fuses_nothing_is_predicted(clusters):
    X, _ = clusters
    model = PenalizedFusion(1e-12, penalty=H1(1e-6)).fit(X)
    assert model.n_clusters_ == 0
    assert (model.labels_ == -1).all()
    assert (model.predict(X) == -1).all()
    assert model.score(X) == -np.inf


def test_nested_parameters():
    model = PenalizedFusion(penalty=H1(0.2), fidelity=Box(0.5))
    assert model.get_params()["penalty__sigma"] == 0.2
    model.set_params(penalty__sigma=0.4, fidelity__epsilon=0.1)
    assert (model.penalty, model.fidelity) == (H1(0.4), Box(0.1))
    assert PenalizedFusion(penalty="h1").set_params(penalty__sigma=0.4).penalty == H1(0.4)
    with pytest.raises(ValueError, match="0 < p < 1"):
        PenalizedFusion(penalty=Lp(0.5)).set_params(penalty__p=2)
    assert clone(model).penalty == H1(0.4)
