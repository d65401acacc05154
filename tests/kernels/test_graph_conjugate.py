"""Loops of nonlinear conjugate gradients, against dense arrays."""

import numpy as np
import pytest

from fusewise.kernels import _threads as threads
from fusewise.kernels import graph_steps as graph_conjugate

N, P = 40, 7


@pytest.fixture(params=[np.float32, np.float64])
def given(request, monkeypatch):
    """Counts, means, centres and symmetric weights; point 5 has no edge, and nothing is known of its column 2."""
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(threads, "n_threads", lambda: 3)
    rng = np.random.default_rng(0)
    upper = np.triu(rng.uniform(size=(N, N)) * (rng.uniform(size=(N, N)) < 0.15), 1)
    upper[5] = upper[:, 5] = 0
    counts = rng.integers(0, 4, size=(N, P))
    counts[5, 2] = 0
    arrays = counts, *rng.normal(size=(2, N, P)), upper + upper.T
    return [array.astype(request.param) for array in arrays]


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
    sums = graph_conjugate.gradient(counts, means, centers, laplacian, degree, 0.7, g)
    close(g, expected)
    close(sums, [np.sum(expected**2 / diagonal), np.sum(expected * earlier / diagonal)])
    assert g[5, 2] == 0, "a centre that nothing holds or pulls stays"
    before = v.copy()
    line = graph_conjugate.direction(counts, means, centers, degree, 0.7, g, v, 0.3)
    close(v, 0.3 * before - expected / diagonal)
    close([line.tilt, line.bend], [np.sum(counts * (centers - means) * v), np.sum(counts * v * v)])
    close(line.slope, np.sum(expected * v))


def test_edges_along_a_direction(given):
    _, _, centers, weights = given
    v = np.random.default_rng(2).normal(size=(N, P)).astype(centers.dtype)
    first, second = np.nonzero(np.triu(weights))
    affinity = weights[first, second]
    apart, going = (each[first] - each[second] for each in (centers, v))
    cross, squares = graph_conjugate.edge_products(centers, v, first, second)
    assert cross.dtype == squares.dtype == centers.dtype
    close(cross, np.sum(apart * going, axis=1))
    close(squares, np.sum(going**2, axis=1))
    ahead = apart + 0.4 * going
    close(graph_conjugate.squares_at(0.4, np.sum(apart**2, axis=1), cross, squares), np.sum(ahead**2, axis=1))
    steep = np.exp(-np.abs(apart[:, 0]))
    expected = np.sum(affinity * steep * np.sum(ahead * going, axis=1))
    close(graph_conjugate.slope_at(0.4, affinity, steep, cross, squares), expected)


def test_no_square_is_negative():
    """Ends that meet, with lengths that rounding has made inconsistent."""
    s, cross, squares = np.array([1.0]), np.array([-1.0 - 1e-9]), np.array([1.0])
    np.testing.assert_array_equal(graph_conjugate.squares_at(1.0, s, cross, squares), [0.0])


def test_sums_without_a_place_for_each_are_refused():
    """Compiled loops would write beyond them."""
    wide, long = np.zeros((N, P)), np.zeros(N)
    with pytest.raises(ValueError, match="argument 7"):
        graph_conjugate._gradient(wide, wide, wide, wide, long, 1.0, wide, np.zeros((N, 1)), 0, N)
    with pytest.raises(ValueError, match="argument 8"):
        graph_conjugate._direction(wide, wide, wide, long, 1.0, wide, wide, 0.0, np.zeros((N, 2)), 0, N)
