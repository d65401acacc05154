"""Steps of fusion along a graph, against dense arrays: systems of columns, and nonlinear conjugate gradients."""

import numpy as np
import pytest
from scipy import sparse

from fusewise.kernels import (
    ColumnSystems,
    edge_products,
    misfit,
    scatter,
    slope_at,
    squared_gradients,
    squares_at,
    update_direction,
    update_gradient,
)
from fusewise.kernels import _threads as threads

N, P = 40, 7


def draw(dtype=np.float64):
    """Counts, means, symmetric weights and centres; node 5 has no edge, and nothing is known of its column 2."""
    rng = np.random.default_rng(0)
    upper = np.triu(rng.uniform(size=(N, N)) * (rng.uniform(size=(N, N)) < 0.15), 1)
    upper[5] = upper[:, 5] = 0
    counts = rng.integers(0, 4, size=(N, P)).astype(dtype)
    counts[5, 2] = 0
    means, centers = rng.normal(size=(2, N, P)).astype(dtype)
    return counts, means * (counts > 0), (upper + upper.T).astype(dtype), centers


def solve(counts, means, weights, centers, coupling, **options):
    rows = sparse.csr_matrix(weights)
    degree = weights.sum(axis=1)
    systems = ColumnSystems(counts, means, rows.indptr, rows.indices, rows.data, degree, coupling)
    return systems.solve(centers, degree[:, None] * centers - weights @ centers, **options), systems


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("worth", [1, 2**60], ids=["threads", "no threads"])
def test_every_column_is_solved(dtype, worth, monkeypatch):
    monkeypatch.setattr(threads, "WORTH_A_THREAD", worth)
    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    counts, means, weights, centers = draw(dtype)
    before = centers.copy()
    tight = 1e-6 if dtype == np.float32 else 1e-12
    solved, systems = solve(counts, means, weights, centers, 0.7, shrink=tight, max_steps=500)
    np.testing.assert_array_equal(centers, before)
    assert solved.dtype == dtype
    laplacian = np.diag(weights.sum(axis=1)) - weights
    for p in range(P):
        left = (np.diag(counts[:, p]) + 0.7 * laplacian) @ solved[:, p]
        np.testing.assert_allclose(left, counts[:, p] * means[:, p], atol=1e4 * tight)
    assert solved[5, 2] == centers[5, 2], "a centre that nothing holds or pulls stays"
    assert 1 <= len(systems.spare) <= (3 if worth == 1 else 1), "arrays are kept for the next call"


def test_every_step_lowers_the_quadratic():
    counts, means, weights, centers = draw()
    values = []
    for steps in range(8):
        u, _ = solve(counts, means, weights, centers, 0.7, shrink=0, max_steps=steps)
        apart = ((u[:, None] - u[None]) ** 2).sum(axis=2)
        values.append((counts * (u - means) ** 2).sum() + 0.35 * (weights * apart).sum())
    assert np.all(np.diff(values) < 0)


def test_misfit_and_gradients():
    counts, means, weights, centers = draw()
    laplacian = weights.sum(axis=1)[:, None] * centers - weights @ centers
    assert misfit(counts, means, centers) == pytest.approx((counts * (centers - means) ** 2).sum())
    squares = squared_gradients(counts, means, centers, laplacian, 0.3)
    expected = ((counts * (centers - means) + 0.3 * laplacian) ** 2).sum(axis=1)
    np.testing.assert_allclose(squares, expected, rtol=1e-12)


def test_scatter():
    _, means, weights, centers = draw()
    expected = sum(d * np.sum((u - means[0]) ** 2) for d, u in zip(weights.sum(axis=1), centers, strict=True))
    assert scatter(weights.sum(axis=1), means[0], centers) == pytest.approx(expected)


def test_shapes_are_checked_again_when_they_change():
    counts, means, _, centers = draw()
    for _ in range(2):
        misfit(counts, means, centers)
        with pytest.raises(ValueError, match="_misfits"):
            misfit(counts, means[:-1], centers)


@pytest.fixture(params=[np.float32, np.float64])
def given(request, monkeypatch):
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    counts, means, weights, centers = draw(request.param)
    return counts, means, centers, weights


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_gradient_and_direction(given):
    counts, means, centers, weights = given
    rng = np.random.default_rng(1)
    earlier, v = rng.normal(size=(2, N, P)).astype(counts.dtype)
    degree = weights.sum(axis=1)
    laplacian = degree[:, None] * centers - weights @ centers
    expected = counts * (centers - means) + 0.7 * laplacian
    diagonal = counts + 0.7 * degree[:, None]
    diagonal[diagonal == 0] = 1
    g = earlier.copy()
    sums = update_gradient(counts, means, centers, laplacian, degree, 0.7, g)
    close(g, expected)
    close(sums, [np.sum(expected**2 / diagonal), np.sum(expected * earlier / diagonal)])
    assert g[5, 2] == 0, "a centre that nothing holds or pulls stays"
    before = v.copy()
    line = update_direction(counts, means, centers, degree, 0.7, g, v, 0.3)
    close(v, 0.3 * before - expected / diagonal)
    close([line.tilt, line.bend], [np.sum(counts * (centers - means) * v), np.sum(counts * v * v)])
    close(line.slope, np.sum(expected * v))


def test_edges_along_a_direction(given):
    _, _, centers, weights = given
    v = np.random.default_rng(2).normal(size=(N, P)).astype(centers.dtype)
    first, second = np.nonzero(np.triu(weights))
    affinity = weights[first, second]
    apart, going = (each[first] - each[second] for each in (centers, v))
    cross, squares = edge_products(centers, v, first, second)
    assert cross.dtype == squares.dtype == centers.dtype
    close(cross, np.sum(apart * going, axis=1))
    close(squares, np.sum(going**2, axis=1))
    ahead = apart + 0.4 * going
    close(squares_at(0.4, np.sum(apart**2, axis=1), cross, squares), np.sum(ahead**2, axis=1))
    steep = np.exp(-np.abs(apart[:, 0]))
    expected = np.sum(affinity * steep * np.sum(ahead * going, axis=1))
    close(slope_at(0.4, affinity, steep, cross, squares), expected)


def test_no_square_is_negative():
    """Ends that meet, with lengths that rounding has made inconsistent."""
    s, cross, squares = np.array([1.0]), np.array([-1.0 - 1e-9]), np.array([1.0])
    np.testing.assert_array_equal(squares_at(1.0, s, cross, squares), [0.0])
