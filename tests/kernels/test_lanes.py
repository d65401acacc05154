"""Small matrices side by side, against LAPACK."""

import numpy as np
import pytest

from fusewise.kernels import LANES, factorise, inverse_roots


@pytest.mark.parametrize("n", [1, 5, LANES])
def test_factors_are_those_of_lapack(n):
    rng = np.random.default_rng(n)
    half = rng.normal(size=(LANES, 4, 3))
    matrices = half @ half.transpose(0, 2, 1)  # of rank 3: the shift makes them positive definite
    lower, pivot = np.ascontiguousarray(matrices.transpose(1, 2, 0)), np.zeros((4, LANES))
    factorise.fast(lower, pivot, 0.5, n)
    for c in range(n):
        expected = np.linalg.cholesky(matrices[c] + 0.5 * np.eye(4))
        np.testing.assert_allclose(np.tril(lower[:, :, c], -1), np.tril(expected, -1), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(1 / pivot[:, c], np.diag(expected), rtol=1e-9)
    np.testing.assert_array_equal(lower[:, :, n:], matrices.transpose(1, 2, 0)[:, :, n:])


@pytest.mark.parametrize("part", [0, 1j], ids=["real", "complex"])
@pytest.mark.parametrize("r", [1, 2, 6])
def test_inverse_roots_are_those_of_lapack(part, r):
    rng = np.random.default_rng(r)
    half = rng.normal(size=(9, r, r + 2)) + part * rng.normal(size=(9, r, r + 2))
    matrices = half @ half.conj().transpose(0, 2, 1)
    roots, log_det = inverse_roots(matrices.transpose(1, 2, 0))
    expected = np.linalg.inv(np.linalg.cholesky(matrices))
    np.testing.assert_allclose(roots.transpose(2, 0, 1), expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(log_det, np.linalg.slogdet(matrices)[1], rtol=1e-9, atol=1e-12)


def test_factors_of_singular_matrices_are_finite():
    """A pivot below zero by rounding gave NaN, and a merge tree that was never completed."""
    rng = np.random.default_rng(0)
    n, r = 5, 6
    thin = rng.normal(size=(r, 1, n))
    lower = 1e12 * np.einsum("ikn,jkn->ijn", thin, thin)
    lower = np.concatenate([lower, np.zeros((r, r, LANES - n))], axis=2)
    pivot = np.empty((r, LANES))
    factorise.fast(lower, pivot, 0.0, n)
    assert np.isfinite(pivot[:, :n]).all()
    assert np.isfinite(lower[:, :, :n]).all()
