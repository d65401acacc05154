"""The spanning forest by torch, against SciPy's."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from fusewise.kernels.tensors import spanning_forest

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("n", "edges"), [(2, 1), (60, 40), (500, 2000), (40, 0)])
def test_lengths_and_components_are_those_of_scipy(n, edges, ties):
    rng = np.random.default_rng(n + edges)
    ends = np.sort(np.array([rng.choice(n, 2, replace=False) for _ in range(edges)]).reshape(-1, 2), axis=1)
    first, second = np.unique(ends, axis=0).T
    lengths = rng.integers(1, 5, len(first)).astype(float) if ties else rng.uniform(1, 2, len(first))
    kept = spanning_forest(n, *(torch.from_numpy(each) for each in (first, second, lengths))).numpy()
    graph = sparse.csr_matrix((lengths, (first, second)), shape=(n, n))
    np.testing.assert_allclose(np.sort(lengths[kept]), np.sort(minimum_spanning_tree(graph).data))
    forest = sparse.csr_matrix((lengths[kept], (first[kept], second[kept])), shape=(n, n))
    assert connected_components(forest, directed=False)[0] == connected_components(graph, directed=False)[0]
