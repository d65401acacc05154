"""Tables of two or three columns: complete rows are searched, the others are assigned."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering
from fusewise.automatic import Hints, choose
from fusewise.automatic.search import sampled
from fusewise.datasets import hide_entries
from fusewise.observations import as_entries


def linked_rings(n=500, seed=0):
    """Two rings that pass through each other."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, 2 * n)
    y = np.repeat([0, 1], n)
    flat, up = np.cos(angle), np.sin(angle)
    rings = np.where(y[:, None] == 0, np.c_[flat, up, 0 * up], np.c_[1 + flat, 0 * up, up])
    return rings + rng.normal(0, 0.05, rings.shape), y


def grid_of_blobs(side=4, n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(side**2), n)
    return np.c_[y % side, y // side] * 6.0 + rng.standard_normal((len(y), 2)), y


@pytest.mark.parametrize(("draw", "gain"), [(linked_rings, 0.7), (grid_of_blobs, 0.01)])
def test_shapes_that_incomplete_rows_would_blur(draw, gain, monkeypatch):
    X, y = draw()
    Z = hide_entries(X, 0.2, random_state=0)
    whole = np.isfinite(Z).all(axis=1)
    found = FusionClustering().fit(Z)
    assert found.n_clusters_ == y.max() + 1
    assert adjusted_rand_score(y[whole], found.labels_[whole]) > 0.95
    monkeypatch.setattr(sampled, "SHARE_COMPLETE", 2.0)
    blurred = FusionClustering().fit(Z)
    assert adjusted_rand_score(y, blurred.labels_) < adjusted_rand_score(y, found.labels_) - gain
    assert blurred.n_clusters_ > found.n_clusters_


def test_complete_rows_are_searched_and_all_are_labelled():
    X, _ = grid_of_blobs()
    Z = hide_entries(X, 0.3, random_state=1)
    Z = Z[np.isfinite(Z).any(axis=1)]
    table = as_entries(Z)
    found = choose(table)
    np.testing.assert_array_equal(found.rows, np.flatnonzero(np.isfinite(Z).all(axis=1)))
    model = FusionClustering().fit(Z)
    assert len(model.labels_) == len(Z)
    np.testing.assert_array_equal(model.labels_, model.predict(Z))


def test_a_group_without_complete_rows_is_found():
    """Its second column was never measured: complete rows alone do not show that it exists."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [150, 150, 60])
    X = np.array([(0.0, 0.0), (8.0, 0.0), (16.0, 0.0)])[y] + rng.standard_normal((360, 2))
    X[y == 2, 1] = np.nan
    X[:20, 1] = np.nan
    model = FusionClustering().fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert len(model.path_.rows) == 360


@pytest.mark.parametrize(("name", "value"), [("ENOUGH_COMPLETE", 10**6), ("SHARE_COMPLETE", 0.99)])
def test_too_few_complete_rows_are_not_searched_alone(monkeypatch, name, value):
    Z = hide_entries(grid_of_blobs()[0], 0.2, random_state=0)
    monkeypatch.setattr(sampled, name, value)
    assert len(choose(as_entries(Z)).rows) == np.isfinite(Z).any(axis=1).sum()


def test_rows_with_hints_are_searched_whether_they_are_complete_or_not():
    X, y = grid_of_blobs(2)
    Z = hide_entries(X, 0.2, random_state=0)
    known = np.where(np.isnan(Z).any(axis=1) & (np.arange(len(y)) % 3 == 0), y % 2, -1)
    hinted = np.flatnonzero(known >= 0)
    order = hinted[np.argsort(known[hinted], kind="stable")]
    hints = Hints(order, known[order], np.array([[0, 1]]))
    assert len(choose(as_entries(Z), hints=hints).rows) == np.isfinite(Z).any(axis=1).sum()
    model = FusionClustering(semi_supervised=True).fit(Z, known)
    assert all(len(np.unique(model.labels_[known == k])) == 1 for k in (0, 1))


def test_a_table_of_four_columns_is_searched_with_all_rows():
    X = np.c_[grid_of_blobs(2)[0], grid_of_blobs(2, seed=1)[0]]
    Z = hide_entries(X, 0.1, random_state=0)
    assert len(choose(as_entries(Z)).rows) == np.isfinite(Z).any(axis=1).sum()
