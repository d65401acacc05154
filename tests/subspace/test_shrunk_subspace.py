"""The shrunk subspace: as the plain one where there is plenty to see, better where there is little."""

import numpy as np
import pytest

from fusewise.datasets import hide_entries
from fusewise.observations import as_entries
from fusewise.subspace import coordinates, fit_shrunk_subspace, fit_subspace, reconstruct


def low_rank(n, p, rank, noise=0.5, spread=1.0, seed=0):
    """Rows of rank `rank` about column means of standard deviation `spread`, with noise."""
    rng = np.random.default_rng(seed)
    means = spread * rng.normal(size=p)
    return means + rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p)) + noise * rng.normal(size=(n, p))


def filled(subspace, X):
    return reconstruct(subspace, coordinates(subspace, as_entries(X))[0])


def error(fit, X, truth):
    hidden = np.isnan(X)
    return np.sqrt(np.mean((filled(fit, X) - truth)[hidden] ** 2))


def test_agrees_with_maximum_likelihood_where_everything_is_seen_often():
    X = hide_entries(low_rank(3000, 8, 2), 0.2, random_state=0)
    entries = as_entries(X)
    shrunk, plain = fit_shrunk_subspace(entries, 2), fit_subspace(entries, 2)
    np.testing.assert_allclose(shrunk.mean, plain.mean, atol=0.05)
    np.testing.assert_allclose(shrunk.variances, plain.variances, rtol=0.03)
    np.testing.assert_allclose(shrunk.noise, plain.noise, rtol=0.03)
    angles = np.linalg.svd(shrunk.basis.T @ plain.basis, compute_uv=False)
    assert angles.min() > 0.999


def test_axes_that_are_not_there_go_out():
    fit = fit_shrunk_subspace(as_entries(hide_entries(low_rank(200, 60, 2), 0.5, random_state=0)), 6)
    assert fit.variances[1] > 10 * fit.noise
    assert fit.variances[2] < 0.01 * fit.variances[1]


@pytest.mark.parametrize("seed", range(3))
def test_fills_nearly_empty_tables_better(seed):
    truth = low_rank(300, 200, 2, noise=1.0, spread=0.5, seed=seed)
    X = hide_entries(truth, 0.95, random_state=seed)
    entries = as_entries(X)
    plain = fit_subspace(entries, 4)
    assert error(fit_shrunk_subspace(entries, 4), X, truth) < 0.9 * error(plain, X, truth)


def test_rarely_seen_columns_are_drawn_to_the_others_only_if_these_are_alike():
    rng = np.random.default_rng(0)
    for spread, shrinks in ((0.05, True), (50.0, False)):
        X = spread * rng.normal(size=40) + rng.normal(size=(100, 40))
        X[2:, 0] = np.nan
        own, others = np.nanmean(X[:, 0]), np.nanmean(X[:, 1:])
        found = fit_shrunk_subspace(as_entries(X), 1).mean[0]
        assert (abs(found - others) < 0.3 * abs(own - others)) == shrinks
