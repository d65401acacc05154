"""Conjugate gradients against LAPACK, and the properties that define them."""

import numpy as np
import pytest

from fusewise.kernels import conjugate_gradients, shrunk_by


def system(n=7, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, n))
    return root @ root.T + 0.1 * np.eye(n), rng.standard_normal(n)


def solve(matrix, right, precondition=np.copy, max_steps=100, enough=None, inner=np.dot):
    x, residuals = np.zeros_like(right), []
    steps = conjugate_gradients(
        lambda v: matrix @ v, precondition, right, inner, max_steps=max_steps, enough=enough or shrunk_by(1e-12)
    )
    for length, direction, residual in steps:
        x = x + length * direction
        residuals.append(residual.copy())
    return x, residuals


def test_residuals_are_orthogonal_and_true():
    """Both are what makes n steps enough."""
    matrix, right = system()
    x, residuals = solve(matrix, right, max_steps=4)
    assert len(residuals) == 4
    np.testing.assert_allclose(residuals[-1], right - matrix @ x, atol=1e-10)
    products = np.array(residuals) @ np.array([right, *residuals]).T
    np.testing.assert_allclose(products - np.diag(np.diag(products, 1), 1)[:4, :5], 0, atol=1e-8)


def test_independent_systems_have_steps_of_their_own():
    """The columns of a right-hand side; one of them is solved from the start and stays as it is."""
    matrix, right = system()
    rights = np.stack([right, 0 * right, matrix[0]], axis=1)
    x, _ = solve(matrix, rights, inner=lambda a, b: (a * b).sum(0))
    np.testing.assert_allclose(x, np.linalg.solve(matrix, rights), atol=1e-8)
    assert not x[:, 1].any()


@pytest.mark.parametrize("factor", [0.5, 1e-3])
def test_stops_once_shrunk(factor):
    matrix, right = system()
    _, residuals = solve(matrix, right, enough=shrunk_by(factor))
    sizes = np.linalg.norm([right, *residuals], axis=1)
    assert sizes[-1] <= factor * sizes[0] < sizes[-2]
