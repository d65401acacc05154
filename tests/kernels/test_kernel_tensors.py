"""Kernels in torch tensors, against NumPy and SciPy."""

import numpy as np
import pytest

from fusewise.kernels import _tensors, block_inverses, edge_squares, factorised, nearest_in, squares_of

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("block", [2**27, 30], ids=["one block", "blocks"])
def test_squared_lengths_in_tensors(block, monkeypatch):
    monkeypatch.setattr(_tensors, "EDGE_BLOCK", block)
    rng = np.random.default_rng(0)
    points, ends = rng.normal(size=(60, 7)), rng.integers(0, 60, (2, 90))
    found = edge_squares(*(torch.from_numpy(each) for each in (points, *ends)))
    np.testing.assert_allclose(found, [np.sum((points[i] - points[j]) ** 2) for i, j in ends.T])
    none = torch.zeros(0, dtype=torch.int64)
    assert edge_squares(torch.from_numpy(points), none, none).shape == (0,)


@pytest.mark.parametrize("r", [1, 2, 5])
def test_factor_determinant_and_inverse(r):
    rng = np.random.default_rng(r)
    root = rng.standard_normal((7, r, r))
    matrices, x = root @ root.transpose(0, 2, 1), rng.standard_normal((7, r))
    rows, columns = np.tril_indices(r)
    factor = factorised((torch.from_numpy(matrices[:, a, b]) for a, b in zip(rows, columns, strict=True)), 0.5)
    shifted = matrices + 0.5 * np.eye(r)
    np.testing.assert_allclose(factor.log_det.numpy(), np.linalg.slogdet(shifted)[1])
    inverse = np.linalg.inv(shifted)
    found = np.stack([entry.numpy() for row in factor.inverse() for entry in row], axis=1)
    np.testing.assert_allclose(found, inverse[:, rows, columns], rtol=1e-9)
    squares = squares_of(factor.whitened(list(torch.from_numpy(x.T))))
    np.testing.assert_allclose(squares.numpy(), np.einsum("ia,iab,ib->i", x, inverse, x))


@pytest.mark.parametrize("r", [1, 3, 12])
def test_inverses_of_blocks(r):
    rng = np.random.default_rng(r)
    root, shift = rng.standard_normal((9, r, r)), rng.uniform(0.1, 1, 9)
    blocks = root @ root.transpose(0, 2, 1)
    found = block_inverses(torch.from_numpy(blocks), torch.from_numpy(shift))
    np.testing.assert_allclose(found, np.linalg.inv(blocks + shift[:, None, None] * np.eye(r)), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("block", [2**27, 5000], ids=["one block", "blocks"])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_nearest_points(block, offset, monkeypatch):
    monkeypatch.setattr(_tensors, "DISTANCES", block)
    rng = np.random.default_rng(0)
    points = (offset + rng.normal(size=(300, 4)) + 4 * rng.integers(0, 4, size=(300, 1))).astype(np.float32)
    squares, indices = nearest_in(torch.from_numpy(points), 15)
    exact = np.square(points[:, None].astype(float) - points).sum(axis=2)
    np.fill_diagonal(exact, np.inf)
    np.testing.assert_allclose(squares, np.sort(exact, axis=1)[:, :15], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(exact, indices.numpy(), axis=1), squares, rtol=1e-4, atol=1e-6)
