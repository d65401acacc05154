"""Subspaces of tables whose entries have errors: the likelihood by brute force, and what a fit recovers."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fusewise.observations import Entries, as_entries, half_known
from fusewise.subspace import coordinates, fit_subspace


def table_with_errors(n: int = 300) -> tuple[np.ndarray, Entries]:
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((n, 2)) @ rng.standard_normal((2, 6)) * 2 + rng.normal(0, 0.5, (n, 6))
    errors = rng.uniform(0, 3, truth.shape) * (rng.random(truth.shape) < 0.7)
    seen = truth + errors * rng.standard_normal(truth.shape)
    seen[rng.random(truth.shape) < 0.2] = np.nan
    return truth, half_known(as_entries(seen), error=errors)


def test_the_likelihood_is_that_of_normal_rows():
    table = table_with_errors(60)[1]
    fit = fit_subspace(table, 2)
    common = (fit.basis * fit.variances) @ fit.basis.T
    total = 0.0
    for i, seen in enumerate(table.mask):
        spread = common[np.ix_(seen, seen)] + np.diag(fit.noise + table.variances[i, seen])
        total += multivariate_normal(fit.mean[seen], spread).logpdf(table.values[i, seen]) if seen.any() else 0
    assert fit.log_likelihood == pytest.approx(total)
    assert (np.diff(fit.history) >= 0).all()


def test_a_fit_that_knows_errors_finds_the_noise_without_them():
    truth, table = table_with_errors()
    exact, aware = fit_subspace(as_entries(truth), 2), fit_subspace(table, 2)
    ignorant = fit_subspace(Entries(table.values, table.mask), 2)
    assert aware.noise == pytest.approx(exact.noise, rel=0.15)
    assert ignorant.noise > 3 * exact.noise


def test_coordinates_are_the_mean_given_entries_and_errors():
    """E[v | x] = cov(v, x) cov(x)^-1 (x - mean), with the errors in cov(x)."""
    table = table_with_errors(40)[1]
    fit = fit_subspace(table, 2)
    places = coordinates(fit, table)[0]
    for i, seen in enumerate(table.mask):
        across = fit.variances[:, None] * fit.basis.T[:, seen]
        spread = fit.basis[seen] @ across + np.diag(fit.noise + table.variances[i, seen])
        expected = across @ np.linalg.solve(spread, table.values[i, seen] - fit.mean[seen])
        np.testing.assert_allclose(places[i], expected, atol=1e-8)
