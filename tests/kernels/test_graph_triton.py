"""Triton kernels against NumPy: on a GPU if there is one, else in Triton's interpreter."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from fusewise.kernels import _nearest, nearest_in

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
ON_GPU = torch.cuda.is_available()
KERNELS = pytest.mark.skipif(
    not ON_GPU and not os.environ.get("TRITON_INTERPRET"), reason="runs on a GPU, or in the interpreter (see below)"
)
DEVICE = "cuda" if ON_GPU else "cpu"
N = 37
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def tensor(array):
    return torch.from_numpy(np.ascontiguousarray(array)).to(DEVICE)


def close(found, expected, dtype):
    assert found.dtype == (torch.float32 if dtype is np.float32 else torch.float64)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found.cpu().numpy(), expected, atol=scale * (3e-6 if dtype is np.float32 else 1e-12))


def graph(dtype):
    """Ends and weights of edges, the same in rows (one empty, one long), and the edge at each place of these."""
    rng = np.random.default_rng(0)
    dense = np.triu(rng.random((N, N)) * (rng.random((N, N)) < 0.15), 1)
    dense[3, 4:] = rng.random(N - 4)  # a row longer than what a kernel takes at a time
    dense[7] = dense[:, 7] = 0
    upper = sparse.coo_matrix(dense)
    numbers = sparse.csr_matrix((np.arange(1, upper.nnz + 1), (upper.row, upper.col)), shape=(N, N))
    rows = sparse.csr_matrix(numbers + numbers.T)
    return upper.row, upper.col, upper.data.astype(dtype), rows.indptr, rows.indices, rows.data - 1, dense + dense.T


@KERNELS
@DTYPES
@pytest.mark.parametrize("r", [1, 3, 10, 70, 300])
def test_edges_and_rows(dtype, r):
    from fusewise.kernels import _triton as graph_triton

    first, second, weight, indptr, indices, edges, dense = graph(dtype)
    points = np.random.default_rng(1).normal(size=(N, r)).astype(dtype)
    squares = graph_triton.edge_squares(tensor(points), tensor(first), tensor(second))
    close(squares, np.square(points[first] - points[second]).sum(axis=1), dtype)
    data, degree = tensor(weight[edges]), tensor(dense.sum(axis=1).astype(dtype))
    found = graph_triton.laplacian(tensor(indptr), tensor(indices), data, degree, tensor(points))
    close(found, (np.diag(dense.sum(axis=1)) - dense) @ points, dtype)
    assert not found[7].any()


@KERNELS
@DTYPES
@pytest.mark.parametrize("r", [1, 2, 5, 10, 17, 22, 32])
def test_blocks(dtype, r):
    from fusewise.kernels import _triton as graph_triton

    rng = np.random.default_rng(2)
    roots = rng.normal(size=(N, r, r + 3))
    blocks, shift, points = roots @ roots.swapaxes(1, 2) / r, rng.uniform(0.1, 2, N), rng.normal(size=(N, r))
    given = [tensor(part.astype(dtype)) for part in (blocks, shift, points)]
    close(graph_triton.block_products(given[0], given[2]), np.einsum("nij,nj->ni", blocks, points), dtype)
    found = graph_triton.block_inverses(given[0], given[1])
    sums = given[0].cpu().numpy().astype(float) + given[1].cpu().numpy()[:, None, None] * np.eye(r)
    close(found, np.linalg.inv(sums), dtype)


@KERNELS
@pytest.mark.parametrize("places", [1, 6], ids=["crowded", "roomy"])
def test_nearest_in_tiles(places, monkeypatch):
    for name, value in (("TILE", 8), ("SEED_TILES", 2), ("PLACES_EACH", places)):
        monkeypatch.setattr(_nearest, name, value)
    points = np.random.default_rng(0).normal(size=(83, 3))
    squares, indices = nearest_in(tensor(points), 3)
    s = ((points[:, None] - points) ** 2).sum(axis=2) + np.diag([np.inf] * len(points))
    np.testing.assert_array_equal(indices.cpu().numpy(), np.argsort(s, axis=1)[:, :3])
    close(squares, np.sort(s, axis=1)[:, :3], np.float32)


@pytest.mark.skipif(ON_GPU or "TRITON_INTERPRET" in os.environ, reason="the tests above run by themselves")
def test_the_interpreter():
    """In a process of its own, since the interpreter is chosen when Triton is imported."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    subprocess.run(command, env=dict(os.environ, TRITON_INTERPRET="1"), check=True)
