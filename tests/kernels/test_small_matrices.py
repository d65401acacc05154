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

    found = blocks.block_inverses(grams, shift)
    assert found.dtype == dtype
    system = grams + shift[:, None, None] * np.eye(r)
    np.testing.assert_allclose(found, np.linalg.inv(system), atol=precision)
    vectors = factors[:, 0]
    np.testing.assert_allclose(
        blocks.block_products(grams, vectors),
        np.squeeze(grams @ vectors[:, :, None], 2),
        rtol=precision,
        atol=precision,
    )


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("few", [False, True])
def test_matrices_in_lanes(is_complex, few):
    rng = np.random.default_rng(0)
    n, r = 300, 5
    parts = rng.normal(size=(2, n, r, r))
    factors = parts[0] + 1j * parts[1] if is_complex else parts[0]
    matrices = factors @ factors.conj().swapaxes(1, 2) + np.eye(r)
    lanes = np.ascontiguousarray(matrices.transpose(1, 2, 0))
    log_det, root = blocks.invert_in_lanes(lanes, roots=True, small=few)
    np.testing.assert_allclose(lanes.transpose(2, 0, 1), np.linalg.inv(matrices), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(root.transpose(2, 0, 1), np.linalg.inv(np.linalg.cholesky(matrices)), atol=1e-10)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(matrices)[1], rtol=1e-8)


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
