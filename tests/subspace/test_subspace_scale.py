"""Subspaces of long and sparse tables: the same as those of small ones, at less cost."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from fusewise.observations import as_entries, as_sparse_entries
from fusewise.subspace import _em as module
from fusewise.subspace import coordinates, fit_subspace, information


def table(n=600, p=8, rank=2, hidden=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank)) @ (3 * rng.standard_normal((rank, p))) + rng.standard_normal((n, p)) + 2
    X[rng.random(X.shape) < hidden] = np.nan
    return X


class TestSample:
    @pytest.fixture
    def small(self, monkeypatch):
        monkeypatch.setattr(module, "SAMPLE", 200)

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


@pytest.mark.parametrize("blur", [None, np.linspace(0, 2, 8)])
def test_information_is_the_misfit_but_for_a_constant(blur):
    # |S(Q u + mean - x)|² / noise = u' precision u - 2 vector' u + its value at u = 0, with the noise of each column.
    entries = as_entries(table(50))
    fit = fit_subspace(entries, rank=2)
    fit = replace(fit, blur=None if blur is None else blur[: len(fit.mean)])
    precision, vector = information(fit, entries)
    v = coordinates(fit, entries)[0]

    def misfit(v):
        gaps = np.where(entries.mask, fit.mean + v @ fit.basis.T - entries.values, 0)
        return (np.square(gaps) / (fit.noise + (0 if blur is None else fit.blur))).sum(axis=1)

    quadratic = np.einsum("ik,ikl,il->i", v, precision, v) - 2 * np.einsum("ik,ik->i", vector, v)
    assert_allclose(quadratic + misfit(0 * v), misfit(v))
