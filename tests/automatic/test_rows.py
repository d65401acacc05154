"""Columns that say something about clusters: few among many that are noise."""

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from fusewise import FusionClustering
from fusewise.automatic import rows as module
from fusewise.automatic.rows import axes_in, cost_of_choice, fit_axes, informative_columns, two_humps
from fusewise.datasets import make_clusters
from fusewise.observations import as_entries
from fusewise.subspace import fit_subspace


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


def test_told_the_number_of_clusters():
    X, y = grouped(1, 194)
    assert adjusted_rand_score(y, FusionClustering(n_clusters=4, random_state=0).fit(X).labels_) > 0.9


def test_noise_and_tables_whose_columns_all_depend_on_each_other():
    rng = np.random.default_rng(0)
    assert informative_columns(as_entries(rng.normal(size=(400, 60)))) is None
    assert informative_columns(as_entries(rng.normal(size=(400, 3)) @ rng.normal(size=(3, 60)))) is None
    assert FusionClustering(random_state=0).fit(rng.normal(size=(400, 60))).n_clusters_ == 1


def test_dependence_is_the_largest_correlation():
    """n r² over the rows that both columns have, as of SciPy."""
    X, _ = grouped(0, 4, 0.2)
    wanted = np.zeros(10)
    for j in range(10):
        for k in range(10):
            both = ~np.isnan(X[:, [j, k]]).any(axis=1)
            # centred as whole columns are, so only about the same
            wanted[j] = max(wanted[j], both.sum() * pearsonr(X[both, j], X[both, k])[0] ** 2 if j != k else 0)
    np.testing.assert_allclose(module._dependence(as_entries(X)), wanted, rtol=0.1, atol=0.3)


def test_two_humps_beside_scikit_learn(monkeypatch):
    monkeypatch.setattr(module, "ROUNDS", 300)
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.normal(size=300) + 4 * (rng.random(300) < 0.4)])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for column, gain in zip(X.T, two_humps(as_entries(X)), strict=True):
        fits = [
            GaussianMixture(k, covariance_type="tied", n_init=5, tol=1e-9, max_iter=1000, random_state=0, reg_covar=0)
            for k in (1, 2)
        ]
        one, two = (300 * fit.fit(column[:, None]).score(column[:, None]) for fit in fits)
        assert gain == pytest.approx(two - one - np.log(300), abs=0.3)


def test_other_columns_are_independent_of_the_axes():
    """The density of a row is that of its columns with axes, times a Gaussian one of each other column."""
    X, _ = grouped(2, 10)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    subspace = axes_in(as_entries(X), np.arange(6), 2)
    inner = fit_subspace(as_entries(X[:, :6]), 2)
    covariance = (subspace.basis * subspace.variances) @ subspace.basis.T + np.diag(subspace.noises)
    np.testing.assert_allclose(covariance[6:, 6:], np.eye(10), atol=1e-6)
    np.testing.assert_array_equal(covariance[:6, 6:], 0)
    wanted = (inner.basis * inner.variances) @ inner.basis.T + inner.noise * np.eye(6)
    np.testing.assert_allclose(covariance[:6, :6], wanted, atol=1e-4)


def test_cost_of_choice():
    assert cost_of_choice(6, 200) == pytest.approx(np.log(200 * 199 * 198 * 197 * 196 * 195 / 720))


def test_axes_that_begin_with_fewer_are_as_likely():
    X = make_clusters(6, 60, 15, noise=0.3, random_state=0)[0]
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    rows = as_entries(X)
    cold, warm = fit_axes(rows, 8), fit_axes(rows, 8, start=fit_axes(rows, 4))
    assert warm.log_likelihood >= cold.log_likelihood - 1e-3 * abs(cold.log_likelihood)
