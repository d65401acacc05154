"""Quadratics, against the A_i and b_i they come from."""

import numpy as np
import pytest

from fusewise.observations import Quadratics

N, M, R = 7, 5, 3


@pytest.fixture(params=["real", "complex"])
def dense(request):
    """A_i (some of them of rank 2) and b_i."""
    rng = np.random.default_rng(0)

    def normal(*shape):
        return rng.normal(size=shape) + (1j * rng.normal(size=shape) if request.param == "complex" else 0)

    A = normal(N, M, R)
    A[:2, :, 2] = A[:2, :, 0]
    return A, normal(N, M), normal(N, R)


def quadratics(A, b):
    gram = np.einsum("imk,iml->ikl", A.conj(), A)
    return Quadratics(gram, np.einsum("imk,im->ik", A.conj(), b), np.square(np.abs(b)).sum(axis=1))


def test_misfit(dense):
    A, b, u = dense
    expected = sum(np.linalg.norm(A[i] @ u[i] - b[i]) ** 2 for i in range(N))
    assert quadratics(A, b).misfit(u) == pytest.approx(expected)


def test_solve_is_least_squares_with_the_pull_as_further_rows(dense):
    A, b, v = dense
    pull = np.linspace(0.1, 3, N)
    found = quadratics(A, b).solve(v, pull)
    for i in range(N):
        stacked = np.vstack([A[i], np.sqrt(pull[i]) * np.eye(R)])
        right = np.concatenate([b[i], np.sqrt(pull[i]) * v[i]])
        np.testing.assert_allclose(found[i], np.linalg.lstsq(stacked, right)[0], rtol=1e-9)


def test_solve_without_a_pull_leaves_unseen_directions_at_the_anchor(dense):
    A, b, v = dense
    found = quadratics(A, b).solve(v, np.zeros(N))
    for i in range(N):
        expected = v[i] + np.linalg.pinv(A[i]) @ (b[i] - A[i] @ v[i])
        np.testing.assert_allclose(found[i], expected, rtol=1e-2 if i < 2 else 1e-9, atol=1e-2 if i < 2 else 1e-9)


def test_preconditioner_inverts_the_system(dense):
    A, b, u = dense
    pull = np.linspace(0.5, 2, N)
    q = quadratics(A, b)
    right = q.normal(u) + pull[:, None] * u
    np.testing.assert_allclose(q.preconditioner(pull)(right), u, rtol=1e-9)


def test_merged_points_share_a_centre(dense):
    A, b, u = dense
    groups = np.array([0, 2, 0, 1, 2, 2, 0])
    q = quadratics(A, b)
    merged = q.merge(groups, 3)
    assert merged.shape == (3, R)
    assert merged.misfit(u[:3]) == pytest.approx(q.misfit(u[:3][groups]))
    best = merged.solve(np.zeros((3, R)), np.zeros(3))
    for k in range(3):
        stacked, right = np.concatenate(A[groups == k]), np.concatenate(b[groups == k])
        np.testing.assert_allclose(best[k], np.linalg.lstsq(stacked, right)[0], rtol=1e-8)


def test_mean_is_least_squares_over_all(dense):
    A, b, _ = dense
    q = quadratics(A, b)
    np.testing.assert_allclose(q.mean, np.linalg.lstsq(np.concatenate(A), np.concatenate(b))[0], rtol=1e-9)
    np.testing.assert_allclose(q.centred.sum(axis=0), 0, atol=1e-9)
