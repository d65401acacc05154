"""``transform`` and ``score``: in the units of the model, so that neither depends on those of the columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

from fusewise import FusionClustering
from fusewise.datasets import hide_entries, make_clusters

UNITS = np.array([1000.0, 1e-3, 1.0, 50.0])


def measured():
    """Two pairs of columns of which the larger numbers say little, as grams beside millimetres."""
    X, _, _ = make_clusters(3, [60, 40, 25], 4, noise=0.12, random_state=0)
    return hide_entries(X, 0.1, random_state=1) * UNITS


TABLES = {
    "units": measured,
    "iris": lambda: load_iris().data,
    "wine": lambda: hide_entries(load_wine().data, 0.3, random_state=0),
    "skewed": lambda: np.exp(1.5 * make_clusters(2, 80, 3, noise=0.3, random_state=2)[0]),
}


@pytest.fixture(params=TABLES)
def table(request):
    return TABLES[request.param]()


def test_the_nearest_cluster_is_the_one_predicted(table):
    model = FusionClustering().fit(table)
    distances, labels = model.transform(table), model.predict(table)
    inside = labels >= 0
    assert (distances.argmin(axis=1) == labels)[inside].mean() >= 0.99
    assert np.isfinite(distances).all()
    assert (distances >= 0).all()


def test_probabilities_follow_from_distances(table):
    model = FusionClustering(n_clusters=3).fit(table)
    shares = np.exp(-0.5 * model.transform(table) ** 2)
    np.testing.assert_allclose(shares / shares.sum(axis=1, keepdims=True), model.predict_proba(table), atol=1e-8)


@pytest.mark.parametrize("column", [0, 1])
def test_units_change_neither(table, column):
    scale = np.ones(table.shape[1])
    scale[column] = 1024.0  # a power of two, so that rounding is the same
    one, other = FusionClustering(n_clusters=3).fit(table), FusionClustering(n_clusters=3).fit(table * scale)
    np.testing.assert_allclose(other.transform(table * scale), one.transform(table), rtol=1e-6, atol=1e-6)
    assert other.score(table * scale) == pytest.approx(one.score(table), rel=1e-8)


def test_in_one_cluster_distance_grows_with_mahalanobis():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3)) @ [[1, 0.6, 0], [0, 1, 0.3], [0, 0, 1]]
    model = FusionClustering(n_clusters=1).fit(X)
    away = X - X.mean(axis=0)
    squares = np.einsum("ij,jk,ik->i", away, np.linalg.inv(np.cov(X.T)), away)
    assert np.corrcoef(np.argsort(np.argsort(squares)), np.argsort(np.argsort(model.transform(X)[:, 0])))[0, 1] > 0.99


def test_a_row_with_nothing_observed_has_no_distance():
    X, _, _ = make_clusters(2, 30, 3, noise=0.1, random_state=0)
    model = FusionClustering().fit(X)
    blank = np.full((1, 3), np.nan)
    assert np.isnan(model.transform(np.vstack([X[:2], blank]))[2]).all()
    assert model.score(np.vstack([X, blank])) == pytest.approx(model.score(X))


def test_the_score_is_the_log_likelihood_of_an_entry():
    """Of one normal cluster of standardised columns: -log(2 pi e) / 2, but for the wider tails of the model."""
    X = np.random.default_rng(0).normal(size=(2000, 2)) * [1, 1000]
    assert FusionClustering(n_clusters=1).fit(X).score(X) == pytest.approx(-0.5 * np.log(2 * np.pi * np.e), abs=0.05)


def test_the_score_of_skewed_columns_is_in_the_same_units():
    """Columns that were made symmetric are compared as they were given, with other models of them."""
    X = np.exp(np.random.default_rng(0).normal(size=(600, 6)))
    model = FusionClustering().fit(X)
    assert model.path_.units.powers is not None
    scale = X.std(axis=0)
    density = -0.5 * np.log(X) ** 2 - 0.5 * np.log(2 * np.pi) - np.log(X) + np.log(scale)  # log-normal
    assert model.score(X) == pytest.approx(density.mean(), abs=0.1)


def test_a_category_is_one_entry_of_the_score():
    X, _, _ = make_clusters(2, 50, 2, noise=0.1, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(colour=np.array(list("rgbcmyk"))[np.arange(100) % 7])
    model = FusionClustering(n_clusters=2).fit(frame)
    rows = model.path_.classifier.log_likelihood(model.observations_)
    assert model.score(frame) == pytest.approx(rows.sum() / 300)
