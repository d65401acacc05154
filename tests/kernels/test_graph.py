"""Loops along a graph, against SciPy and loops over pairs."""

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from fusewise.kernels import _compiling as threads
from fusewise.kernels import (
    edge_squares,
    laplacian,
    row_weights,
    spanning_forest,
    spanning_tree,
)

GRAPHS = [(1, 0), (2, 1), (60, 40), (500, 2000), (40, 0)]


def draw(n, edges):
    """Ends of distinct edges, the smaller first."""
    rng = np.random.default_rng(n + edges)
    ends = np.sort(np.array([rng.choice(n, 2, replace=False) for _ in range(edges)], int).reshape(-1, 2), axis=1)
    first, second = np.unique(ends, axis=0).T if edges else np.zeros((2, 0), int)
    return rng, first, second


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("n", "edges"), GRAPHS)
def test_the_forest_is_that_of_scipy(n, edges, ties):
    rng, first, second = draw(n, edges)
    lengths = rng.integers(1, 5, len(first)).astype(float) if ties else rng.uniform(1, 2, len(first))
    kept = spanning_forest(n, first, second, lengths)
    edges_of = sparse.csr_matrix((lengths, (first, second)), shape=(n, n))
    np.testing.assert_allclose(np.sort(lengths[kept]), np.sort(minimum_spanning_tree(edges_of).data))
    torch = pytest.importorskip("torch")
    on_device = spanning_forest(n, *(torch.from_numpy(each) for each in (first, second, lengths)))
    np.testing.assert_array_equal(on_device, kept)
    forest = sparse.csr_matrix((lengths[kept], (first[kept], second[kept])), shape=(n, n))
    assert connected_components(forest, directed=False)[0] == connected_components(edges_of, directed=False)[0]


N = 60


@pytest.fixture
def weights():
    """A symmetric sparse matrix with an empty row."""
    matrix = sparse.random(N, N, 0.1, random_state=0)
    dense = sparse.triu(matrix, k=1).toarray()
    dense[7] = dense[:, 7] = 0
    return sparse.csr_matrix(dense + dense.T)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1, 3, 20])
@pytest.mark.parametrize("worth", [1, 2**60], ids=["threads", "no threads"])
def test_loops_over_edges(weights, dtype, p, worth, monkeypatch):
    monkeypatch.setattr(threads, "WORTH_A_THREAD", worth)
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    points = np.random.default_rng(1).normal(size=(N, p)).astype(dtype)
    upper = sparse.coo_matrix(sparse.triu(weights, k=1))
    precision = 1e-5 if dtype == np.float32 else 1e-12
    s = edge_squares(points, upper.row, upper.col)
    assert s.dtype == dtype
    differences = [points[i] - points[j] for i, j in zip(upper.row, upper.col, strict=True)]
    np.testing.assert_allclose(s, [np.sum(difference**2) for difference in differences], rtol=precision)
    numbers = sparse.csr_matrix((np.arange(1, upper.nnz + 1), (upper.row, upper.col)), shape=(N, N))
    rows = sparse.csr_matrix(numbers + numbers.T)
    data, degree = row_weights(rows.indptr, rows.indices, rows.data - 1, upper.data.astype(dtype))
    np.testing.assert_allclose(data, sparse.csr_matrix(weights).data, rtol=1e-6)
    np.testing.assert_allclose(degree, np.asarray(weights.sum(axis=1)).ravel(), rtol=1e-5)
    product = laplacian(rows.indptr, rows.indices, data, degree, points)
    assert product.dtype == dtype
    np.testing.assert_allclose(product, degree[:, None] * points - weights @ points, atol=1e3 * precision)
    assert np.all(product[7] == 0)


@pytest.mark.parametrize(("n", "p"), [(1, 2), (2, 1), (40, 3), (120, 12)])
def test_the_spanning_tree_is_that_of_single_linkage(n, p):
    points = np.random.default_rng(n).normal(size=(n, p))
    first, second, lengths = spanning_tree(points)
    np.testing.assert_allclose(lengths, np.linalg.norm(points[first] - points[second], axis=1))
    if n == 1:
        assert len(lengths) == 0
        return
    tree = linkage(points, method="single")
    np.testing.assert_allclose(np.sort(lengths), tree[:, 2])
    for cut in np.quantile(lengths, [0.2, 0.5, 0.9]):
        short = lengths <= cut
        joined = sparse.csr_matrix((np.ones(short.sum()), (first[short], second[short])), shape=(n, n))
        groups = connected_components(joined, directed=False)[1]
        expected = fcluster(tree, cut, criterion="distance")
        assert len(set(zip(groups.tolist(), expected.tolist(), strict=True))) == len(set(expected.tolist()))
