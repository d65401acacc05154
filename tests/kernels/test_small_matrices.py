"""Products with small matrices and their inverses, against NumPy's."""

import numpy as np
import pytest

from fusewise.kernels import LANES, factorise
from fusewise.kernels import _compiling as threads
from fusewise.kernels import _small_matrices as blocks


@pytest.fixture(params=[10**9, 0], ids=["small", "compiled"])
def small(request, monkeypatch):
    """Every property holds of what is done without compiled loops, and with them."""
    monkeypatch.setattr(blocks, "few", lambda n: n <= request.param)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("r", [1, 2, 7])
@pytest.mark.parametrize("worth", [1, 2**60], ids=["threads", "no threads"])
def test_blocks(small, dtype, r, worth, monkeypatch):
    monkeypatch.setattr(threads, "WORTH_A_THREAD", worth)
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    rng = np.random.default_rng(r)
    parts = rng.normal(size=(2, 50, r + 1, r))
    factors = (parts[0] + 1j * parts[1] if np.issubdtype(dtype, np.complexfloating) else parts[0]).astype(dtype)
    grams = np.swapaxes(factors.conj(), 1, 2) @ factors
    shift = rng.uniform(0.5, 1, 50).astype(grams.real.dtype)
    precision = 1e-3 if grams.real.dtype == np.float32 else 1e-10

    found, log_det = blocks.inverses_and_log_dets(grams, shift)
    assert found.dtype == dtype
    system = grams + shift[:, None, None] * np.eye(r)
    np.testing.assert_allclose(found, np.linalg.inv(system), atol=precision)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(system)[1], rtol=precision, atol=precision)
    vectors = factors[:, 0]
    np.testing.assert_allclose(
        blocks.block_products(grams, vectors),
        np.squeeze(grams @ vectors[:, :, None], 2),
        rtol=precision,
        atol=precision,
    )


def test_triangles_are_solved_for_all_at_once():
    rng = np.random.default_rng(0)
    n, r = 300, 5
    roots = rng.normal(size=(n, r, r))
    matrices, right = roots @ roots.transpose(0, 2, 1), rng.normal(size=(r, n))
    whole = matrices + 0.5 * np.eye(r)
    triangles, solved, (i, j) = np.empty((15, n)), right.copy(), np.tril_indices(r)
    triangles[:] = matrices[:, i, j].T
    log_det = blocks.solve_triangles(triangles, solved, 0.5)
    np.testing.assert_allclose(triangles, np.linalg.inv(whole)[:, i, j].T, rtol=1e-8)
    np.testing.assert_allclose(solved, np.linalg.solve(whole, right.T[:, :, None])[:, :, 0].T, rtol=1e-8)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(whole)[1], rtol=1e-8)


def test_factors_of_singular_matrices_are_finite():
    """A pivot below zero by rounding gave NaN, and a merge tree that was never completed."""
    rng = np.random.default_rng(0)
    n, r = 5, 6
    thin = rng.normal(size=(r, 1, n))
    lower = 1e12 * np.einsum("ikn,jkn->ijn", thin, thin)
    lower = np.concatenate([lower, np.zeros((r, r, LANES - n))], axis=2)
    pivot = np.empty((r, LANES))
    factorise.fast(lower, pivot, n)
    assert np.isfinite(pivot[:, :n]).all()
    assert np.isfinite(lower[:, :, :n]).all()
