"""Loops over edges and the spanning tree, against SciPy."""

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components

from fusewise.kernels import _threads as threads
from fusewise.kernels import graph
from fusewise.kernels.graph import spanning_tree

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
    s = graph.edge_squares(points, upper.row, upper.col)
    assert s.dtype == dtype
    differences = [points[i] - points[j] for i, j in zip(upper.row, upper.col, strict=True)]
    np.testing.assert_allclose(s, [np.sum(difference**2) for difference in differences], rtol=precision)
    numbers = sparse.csr_matrix((np.arange(1, upper.nnz + 1), (upper.row, upper.col)), shape=(N, N))
    rows = sparse.csr_matrix(numbers + numbers.T)
    data, degree = graph.gather(upper.data.astype(dtype), rows.indptr, rows.data - 1)
    np.testing.assert_allclose(data, sparse.csr_matrix(weights).data, rtol=1e-6)
    np.testing.assert_allclose(degree, np.asarray(weights.sum(axis=1)).ravel(), rtol=1e-5)
    product = graph.laplacian(rows.indptr, rows.indices, data, degree, points)
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


def test_points_that_coincide():
    _, _, lengths = spanning_tree(np.zeros((5, 3)))
    assert lengths.tolist() == [0.0] * 4


@pytest.mark.parametrize("block", [2**27, 30], ids=["one block", "blocks"])
def test_squared_lengths_in_tensors(block, monkeypatch):
    torch = pytest.importorskip("torch")
    from fusewise.kernels import tensors as graph_torch

    monkeypatch.setattr(graph_torch, "BLOCK", block)
    rng = np.random.default_rng(0)
    points, ends = rng.normal(size=(N, 7)), rng.integers(0, N, (2, 90))
    found = graph_torch.edge_squares(*(torch.from_numpy(each) for each in (points, *ends)))
    np.testing.assert_allclose(found, [np.sum((points[i] - points[j]) ** 2) for i, j in ends.T])
    none = torch.zeros(0, dtype=torch.int64)
    assert graph_torch.edge_squares(torch.from_numpy(points), none, none).shape == (0,)
