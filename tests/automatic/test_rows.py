"""Columns that say something about clusters: few among many that are noise."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma
from sklearn.datasets import make_circles
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering
from fusewise.automatic import _rows as module
from fusewise.automatic._choosing import choose
from fusewise.automatic._evidence import Evidence
from fusewise.automatic._rows import Rows, fit_axes, informative_columns, parts_of
from fusewise.observations import as_entries


def grouped(seed: int, n_noisy: int, hidden: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Four groups that differ in the first six columns."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=500)
    X = np.hstack([rng.uniform(-3, 3, (4, 6))[y], np.zeros((500, n_noisy))]) + rng.normal(size=(500, 6 + n_noisy))
    X[rng.random(X.shape) < hidden] = np.nan
    return X, y


@pytest.mark.parametrize("hidden", [0.0, 0.2])
def test_few_columns_among_many(hidden):
    X, y = grouped(1, 194, hidden)
    few = FusionClustering(random_state=0).fit(X[:, :6])
    model = FusionClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y, model.labels_) > adjusted_rand_score(y, few.labels_) - 0.03
    np.testing.assert_array_equal(np.flatnonzero(model.path_.subspace.basis.any(axis=1)), np.arange(6))
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_noise_and_tables_whose_columns_all_depend_on_each_other():
    rng = np.random.default_rng(0)
    assert informative_columns(as_entries(rng.normal(size=(400, 60)))) is None
    assert informative_columns(as_entries(rng.normal(size=(400, 3)) @ rng.normal(size=(3, 60)))) is None
    assert FusionClustering(random_state=0).fit(rng.normal(size=(400, 60))).n_clusters_ == 1


def placed(X):
    table = as_entries(X)
    subspace = fit_axes(table, X.shape[1])
    return Rows.of(Evidence.of(subspace, table), subspace.variances), subspace.blur


def parts(X):
    return parts_of(*placed(X))


@pytest.mark.parametrize("k", [1, 2, 5, 12])
def test_the_chance_of_a_gap_by_quadrature(k):
    """A spacing e exceeds two independent sums of k spacings: the mean of F(e)² with F of Gamma(k)."""
    chance = quad(lambda e: np.exp(-e) * gamma.cdf(e, k) ** 2, 0, np.inf)[0]
    assert module.chance_of_gap(k) == pytest.approx(chance, rel=1e-6)


def test_how_often_chance_parts_a_line():
    """No more often than promised; by as many rows on a line as give it the full chance."""
    rng = np.random.default_rng(0)
    cut = [np.unique(module._connected(rng.random((300, 1)), 0.0)).size > 1 for _ in range(300)]
    assert np.mean(cut) <= module.CHANCE + 3 * np.sqrt(module.CHANCE / 300)


def test_connected_parts_by_brute_force():
    """The graph of all pairs of which one is among the k nearest of the other, walked through."""
    rng = np.random.default_rng(1)
    X = np.vstack([rng.random((40, 2)), rng.random((60, 2)) + np.array([0, 3])])
    k = module.enough_neighbors(100)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    near = distances <= np.sort(distances, axis=1)[:, k : k + 1]
    reached = np.linalg.matrix_power((near | near.T).astype(float), 100)[0] > 0
    found = module._connected(X, 0.0)
    assert 1 < np.unique(found).size <= 3
    np.testing.assert_array_equal(found == found[0], reached)


def test_rings_are_two_parts_and_incomplete_rows_in_none():
    X, y = make_circles(500, factor=0.5, noise=0.05, random_state=30)
    X[:50, 0] = np.nan
    found = parts(X)
    assert (found[:50] == -1).all()
    assert adjusted_rand_score(y[50:], found[50:]) == 1


@pytest.mark.parametrize("draw", ["random", "standard_normal", "standard_exponential"])
@pytest.mark.parametrize("p", [2, 3])
def test_one_group_has_no_gap(draw, p):
    rng = np.random.default_rng(0)
    assert all(parts(getattr(rng, draw)((400, p))) is None for _ in range(5))


def test_steps_are_no_gaps():
    """A column of whole numbers beside one of measurements: rows lie in stripes."""
    rng = np.random.default_rng(0)
    assert parts(np.column_stack([rng.integers(4, size=400), rng.normal(size=400)])) is None
    assert parts(rng.integers(3, size=(400, 2)).astype(float)) is None


def test_gaps_are_not_looked_for_among_too_few_rows_or_in_many_dimensions():
    far = np.random.default_rng(0).normal(size=(60, 4)) + 100 * (np.arange(60) % 2)[:, None]
    assert parts(far) is None
    assert parts(far[:, :3]) is not None
    assert parts(far[:12, :3]) is None


def test_rings_with_missing_entries():
    """The best classifier, which knows the density of both rings, has 0.77 on average (``quality.py toys``)."""
    X, y = make_circles(500, factor=0.5, noise=0.05, random_state=31)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    seen = ~np.isnan(X).all(axis=1)
    table = as_entries(X[seen])
    found = choose(table)
    assert found.n_clusters == 2
    assert adjusted_rand_score(y[seen], found.classify(table).labels) > 0.7
    assert found.partitions[found.chosen].max() + 1 == found.mixture.n_components
