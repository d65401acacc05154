"""Probabilistic PCA on observed entries: closed forms, properties, and the awkward tables."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.stats import multivariate_normal

from fusewise.observations import Entries, SparseEntries, as_entries, as_sparse_entries, half_known
from fusewise.subspace import _em as fitting
from fusewise.subspace import _projection as module
from fusewise.subspace import choose_rank, coordinates, fit_subspace, information, reconstruct


def seen(values, mask=None):
    return Entries(values, np.ones(values.shape, bool) if mask is None else mask)


def simulate(n=400, p=30, rank=3, noise=0.5, hidden=0.3, seed=0, is_complex=False):
    rng = np.random.default_rng(seed)

    def normal(*shape):
        real = rng.standard_normal(shape)
        return (real + 1j * rng.standard_normal(shape)) / np.sqrt(2) if is_complex else real

    clean = normal(n, rank) @ normal(p, rank).T + normal(p)
    values = clean + np.sqrt(noise) * normal(n, p)
    mask = rng.random((n, p)) >= hidden
    return np.where(mask, values, 0), mask, clean


def marginal(fit, values, mask):
    """The log-likelihood written out: a Gaussian density per row, on its observed entries."""
    total = 0.0
    covariance = (fit.basis * fit.variances) @ fit.basis.conj().T + fit.noise * np.eye(len(fit.mean))
    half, constant = (1.0, np.pi) if np.iscomplexobj(values) else (0.5, 2 * np.pi)
    for x, seen in zip(values, mask, strict=True):
        y = (x - fit.mean)[seen]
        c = covariance[np.ix_(seen, seen)]
        quadratic = (y.conj() @ np.linalg.solve(c, y)).real
        total -= half * (seen.sum() * np.log(constant) + np.linalg.slogdet(c)[1] + quadratic)
    return total


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 6), hidden=st.floats(0.05, 0.9), is_complex=st.booleans())
def test_log_likelihood_never_falls(seed, rank, hidden, is_complex):
    values, mask, _ = simulate(40, 8, 2, 0.3, hidden, seed, is_complex)
    history = np.array(fit_subspace(seen(values, mask), rank, tol=-np.inf, max_iter=25).history)
    assert len(history) >= 17  # one pass in three may be refused
    assert np.all(np.diff(history) >= -1e-8 * np.abs(history[:-1]))


@pytest.mark.parametrize("is_complex", [False, True])
def test_log_likelihood_is_the_marginal_density_of_the_observed_entries(is_complex):
    values, mask, _ = simulate(50, 7, 2, 0.4, 0.4, 1, is_complex)
    fit = fit_subspace(seen(values, mask), 2, tol=1e-13, max_iter=5000)
    assert_allclose(fit.log_likelihood, marginal(fit, values, mask), rtol=1e-8)
    complete = fit_subspace(seen(values), 2)
    assert_allclose(complete.log_likelihood, marginal(complete, values, np.ones_like(mask)), rtol=1e-10)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("shape", [(200, 10), (15, 40)])
def test_em_meets_tipping_and_bishop_on_complete_data(is_complex, shape):
    """A row with nothing observed leaves the likelihood as it is, but the table to EM."""
    values, mask, _ = simulate(*shape, 3, 0.2, 0.0, 2, is_complex)
    closed = fit_subspace(seen(values), 3)
    blank = np.zeros((1, shape[1]))
    em = fit_subspace(seen(np.vstack([values, blank]), np.vstack([mask, blank > 0])), 3, tol=1e-15, max_iter=5000)
    assert_allclose(em.log_likelihood, closed.log_likelihood, rtol=1e-9)
    assert_allclose(em.noise, closed.noise, rtol=1e-4)
    assert_allclose(em.variances, closed.variances, rtol=1e-3)
    assert_allclose(np.linalg.svd(em.basis.conj().T @ closed.basis)[1], 1, atol=1e-5)


@pytest.mark.parametrize("hidden", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("is_complex", [False, True])
def test_noise_within_five_percent(hidden, is_complex):
    values, mask, _ = simulate(1000, 50, 5, 0.49, hidden, 4, is_complex)
    assert_allclose(fit_subspace(seen(values, mask), 5).noise, 0.49, rtol=0.05)


@pytest.mark.parametrize("hidden", [0.3, 0.6])
def test_held_out_entries_find_the_rank(hidden):
    values, mask, _ = simulate(500, 40, 4, 0.5, hidden, 5)
    assert choose_rank(seen(values, mask), random_state=0) == 4


def sparse_of(values, mask):
    rows, columns = np.nonzero(mask)
    return SparseEntries(sparse.csr_matrix((values[rows, columns], (rows, columns)), values.shape))


@pytest.mark.parametrize("is_complex", [False, True])
def test_sparse_and_blocked_agree_with_dense(monkeypatch, is_complex):
    values, mask, _ = simulate(60, 12, 2, 0.4, 0.5, 6, is_complex)
    dense = fit_subspace(seen(values, mask), 2)
    stored = fit_subspace(sparse_of(values, mask), 2)
    monkeypatch.setattr(module, "BLOCK_ENTRIES", 100)
    blocked = fit_subspace(seen(values, mask), 2)
    for other in (stored, blocked):
        assert_allclose(other.log_likelihood, dense.log_likelihood, rtol=1e-8)
        assert_allclose(other.noise, dense.noise, rtol=1e-6)
    for a, b in zip(coordinates(dense, seen(values, mask)), coordinates(dense, sparse_of(values, mask)), strict=True):
        assert_allclose(a, b, atol=1e-10)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("blur", [None, np.linspace(0, 0.1, 10)])
def test_coordinates_are_the_posterior(is_complex, blur):
    values, mask, clean = simulate(60, 10, 2, 0.3, 0.5, 8, is_complex)
    fit = replace(fit_subspace(seen(values, mask), 2), blur=blur)
    v, covariance = coordinates(fit, seen(values, mask))
    precision, vector = information(fit, seen(values, mask))
    i = 5
    q = fit.basis[mask[i]]
    weighed = q.conj().T / (fit.noise + (0 if blur is None else blur[mask[i]]))
    assert_allclose(precision[i], weighed @ q)
    assert_allclose(vector[i], weighed @ (values[i] - fit.mean)[mask[i]])
    posterior = np.linalg.inv(precision[i] + np.diag(1 / fit.variances))
    assert_allclose(covariance[i], posterior)
    assert_allclose(v[i], posterior @ vector[i])
    assert np.mean(np.abs(reconstruct(fit, v) - clean) ** 2) < 0.3  # better than the entries themselves


@pytest.mark.parametrize("as_sparse", [False, True])
def test_awkward_tables(as_sparse):
    values, mask, _ = simulate(40, 8, 2, 0.3, 0.4, 10)
    mask[3] = False  # a row never seen
    mask[:, 2] = False  # a column never seen
    mask[5] = False
    mask[5, 4] = True  # one entry, rank 6
    values[:, 6] = 1.5  # a constant column
    values = np.where(mask, values, 0)
    data = sparse_of(values, mask) if as_sparse else seen(values, mask)
    fit = fit_subspace(data, 6)
    v, covariance = coordinates(fit, data)
    for array in (fit.mean, fit.basis, fit.variances, v, covariance, np.array(fit.history)):
        assert np.all(np.isfinite(array))
    assert_allclose(v[3], 0, atol=1e-12)
    assert_allclose(covariance[3], np.diag(fit.variances), atol=1e-10)
    assert_allclose(reconstruct(fit, v)[:, 6], 1.5, atol=0.05)
    assert 1 <= choose_rank(data.dense(), random_state=0) <= 7


@pytest.mark.parametrize("values", [np.zeros((5, 3)), np.full((4, 2), 7.0), np.arange(4.0)[:, None]])
@pytest.mark.parametrize("hidden", [0, 1])
def test_tables_without_variance_or_without_width(values, hidden):
    mask = np.ones(values.shape, bool)
    mask[:hidden, 0] = False
    values = np.where(mask, values, 0)
    fit = fit_subspace(seen(values, mask), 2)
    assert np.isfinite(fit.noise)
    assert fit.noise > 0
    assert np.all(np.isfinite(coordinates(fit, seen(values, mask))[0]))
    assert choose_rank(seen(values, mask), random_state=0) == 1


def test_nothing_observed_at_all():
    nothing = seen(np.zeros((4, 3)), np.zeros((4, 3), bool))
    assert np.all(np.isfinite(coordinates(fit_subspace(nothing, 2), nothing)[0]))


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


def table(n=600, p=8, rank=2, hidden=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank)) @ (3 * rng.standard_normal((rank, p))) + rng.standard_normal((n, p)) + 2
    X[rng.random(X.shape) < hidden] = np.nan
    return X


class TestSample:
    @pytest.fixture
    def small(self, monkeypatch):
        monkeypatch.setattr(fitting, "SAMPLE", 200)

    def test_a_column_the_sample_has_not_seen(self, small):
        X = table(3000)
        X[:, 3] = np.nan
        rows = np.setdiff1d(np.arange(3000), np.random.default_rng(0).choice(3000, 200, replace=False))[:60]
        X[rows, 3] = table(3000, seed=1)[rows, 3]
        seen = np.isfinite(X[rows, 3])
        fit = fit_subspace(as_entries(X), rank=2)
        assert np.all(np.isfinite(fit.basis))
        assert fit.mean[3] == pytest.approx(X[rows[seen], 3].mean(), abs=1.0)


class TestSparse:
    def test_nothing_is_filled_up(self):
        # 20,000 x 5,000 would take 800 MB; the 100,000 entries take 1.2.
        rng = np.random.default_rng(0)
        ends = rng.integers(20_000, size=100_000), rng.integers(5_000, size=100_000)
        X = sparse.csr_matrix((rng.standard_normal(100_000), ends), (20_000, 5_000))
        tracemalloc.start()
        entries = as_sparse_entries(X)
        fit = fit_subspace(entries, rank=2, max_iter=3)
        precision, vector = information(fit, entries)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert precision.shape == (20_000, 2, 2)
        assert vector.shape == (20_000, 2)
        assert peak < 80e6
