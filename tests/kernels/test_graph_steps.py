"""Steps of fusion along a graph, against dense arrays: systems of columns."""

import numpy as np
import pytest
from scipy import sparse

from fusewise.kernels import ColumnSystems, compiled
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


def test_shapes_are_checked_again_when_they_change():
    @compiled(shapes=("N P", "N P"))
    def both(one, other):
        return one[0, 0] + other[0, 0]

    for _ in range(2):
        assert both(np.ones((3, 2)), np.ones((3, 2))) == 2
        with pytest.raises(ValueError, match="both"):
            both(np.ones((3, 2)), np.ones((2, 2)))
