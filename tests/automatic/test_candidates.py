"""Partitions along the trees of all rows and of those that are known best."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from fusewise.automatic import cuts
from fusewise.automatic.choosing import choose
from fusewise.automatic.comparison import assign
from fusewise.automatic.cuts import from_best_known
from fusewise.automatic.evidence import Evidence
from fusewise.automatic.mixture_fit import describe
from fusewise.automatic.rows import Rows
from fusewise.automatic.search import TreeSearch
from fusewise.observations import as_entries
from fusewise.subspace import Subspace


def rows_of(X):
    p = X.shape[1]
    return Rows.of(Evidence.of(Subspace(np.zeros(p), np.eye(p), np.ones(p), 1e-4), as_entries(X)), np.ones(p))


def half_known(n=60, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X[::3, 0], X[::3, 1] = np.nan, np.nan
    X[1::6, 2] = np.nan
    return X


def test_the_rows_known_best_are_those_with_most_entries():
    X = half_known()
    best = rows_of(X).best_known
    np.testing.assert_array_equal(best, np.flatnonzero(~np.isnan(X).any(axis=1)))


def test_some_of_the_rows_are_what_they_were():
    rows = rows_of(half_known())
    some, order = rows.some(rows.best_known)
    np.testing.assert_array_equal(np.sort(order), rows.best_known)
    np.testing.assert_array_equal(some.places, rows.places[order])
    assert len(some.places) == len(rows.best_known)
    again = {tuple(place) for place in np.round(rows.places[rows.best_known], 10)}
    assert {tuple(place) for place in np.round(some.places, 10)} == again
    np.testing.assert_allclose(np.sort(some.evidence.constant), np.sort(rows.evidence.constant[rows.best_known]))


def test_complete_tables_have_no_rows_known_better():
    assert from_best_known(rows_of(np.random.default_rng(0).normal(size=(40, 3))), 3, None, 5, range(1, 11)) == []


def stretched(seed, hidden=0.2):
    """Three long groups side by side; a row with one of its two entries may belong to any of them."""
    X, y = make_blobs(500, random_state=seed)
    X = X @ [[0.6, -0.6], [-0.4, 0.8]]
    X[np.random.default_rng(30).random(X.shape) < hidden] = np.nan
    seen = ~np.isnan(X).all(axis=1)
    return X[seen], y[seen]


@pytest.fixture
def all_rows(monkeypatch):
    """The search takes all rows of a table of few columns, not the complete ones alone, along axes as they are."""
    monkeypatch.setattr("fusewise.automatic.sample.SHARE_COMPLETE", 2.0)
    monkeypatch.setattr(TreeSearch, "by_even_axes", lambda _, found: found)


@pytest.mark.usefixtures("all_rows")
def test_rows_known_well_find_clusters_that_others_hide(monkeypatch):
    """Found as well as by a model that is fitted to the true groups; not without them."""
    X, y = stretched(170)
    table = as_entries(X)
    found = choose(table)
    from_truth = assign(Rows.of(found.evidence, np.ones(2)), describe(Rows.of(found.evidence, np.ones(2)), y))
    best = adjusted_rand_score(y, from_truth.log_densities(found.evidence)[0].argmax(axis=1))
    assert found.n_clusters == 3
    assert adjusted_rand_score(y, found.classify(table).labels) > best - 0.05
    monkeypatch.setattr("fusewise.automatic.search.from_best_known", lambda *_: [])
    assert choose(table).n_clusters < 3


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_as_many_clusters_as_asked_for(n_clusters):
    X, _ = stretched(171)
    found = choose(as_entries(X), n_clusters=n_clusters)
    assert found.n_clusters == n_clusters
    assert [mixture.n_components for mixture in found.mixtures] == list(range(1, n_clusters + 1))


@pytest.mark.usefixtures("all_rows")
def test_criteria_only_gain(monkeypatch):
    table = as_entries(stretched(172)[0])
    both = choose(table).criteria
    monkeypatch.setattr("fusewise.automatic.search.from_best_known", lambda *_: [])
    alone = choose(table).criteria
    shared = min(len(both), len(alone))
    assert shared > 3
    assert all(np.array(both[:shared]) >= np.array(alone[:shared]))
    assert any(np.array(both[:shared]) > np.array(alone[:shared]))


def test_no_group_is_left_empty(monkeypatch):
    """Where every row of a group fits another better, that number of groups is not a candidate."""
    rows = rows_of(half_known())
    assert [labels.max() + 1 for labels in from_best_known(rows, 3, 3, 5, range(1, 4))] == [1, 2, 3]

    class LastFitsNone:
        def __init__(self, _, labels, rounds):
            self.n_groups = labels.max() + 1

        def log_densities(self, evidence):
            densities = np.random.default_rng(0).random((evidence.shape[0], self.n_groups))
            densities[:, -1] -= 2.0 * (self.n_groups == 2)
            return densities, densities

    monkeypatch.setattr(cuts, "describe", LastFitsNone)
    assert [labels.max() + 1 for labels in from_best_known(rows, 3, 3, 5, range(1, 4))] == [1, 3]
