"""Prices of all edges at once, against the definition; the path that begins with them is in ``test_fusion_tree``."""

import numpy as np
import pytest

from fusewise.automatic._tree_kernels import LANES, first_roots
from fusewise.kernels import _compiling as threads


def draw(n, r, seed):
    """Quadratics, one of them of a single direction, and edges between them."""
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(n, r + 1, r))
    parts[0, 1:] = 0
    gram = np.einsum("nki,nkj->nij", parts, parts) + 1e-6 * np.eye(r)
    ends = np.sort(rng.integers(n, size=(3 * LANES + 5, 2)), axis=1)
    return gram, rng.normal(size=(n, r)), ends[ends[:, 0] < ends[:, 1]]


@pytest.mark.parametrize("r", [1, 2, 6, 13])
@pytest.mark.parametrize("worth", [1, 2**60], ids=["threads", "no threads"])
def test_roots_are_those_of_the_minima(r, worth, monkeypatch):
    """The rise is min (f_a + f_b) - min f_a - min f_b, by solving for each minimum."""
    monkeypatch.setattr(threads, "WORTH_A_THREAD", worth)
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    gram, target, ends = draw(20, r, r)

    def lowest(g, h):
        return -h @ np.linalg.solve(g, h)

    expected = [
        lowest(gram[a] + gram[b], target[a] + target[b]) - lowest(gram[a], target[a]) - lowest(gram[b], target[b])
        for a, b in ends
    ]
    scale = np.abs([lowest(gram[k], target[k]) for k in range(20)]).max()
    np.testing.assert_allclose(first_roots(gram, target, ends) ** 2, expected, rtol=1e-7, atol=1e-9 * scale)
