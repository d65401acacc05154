"""Kernels in torch tensors, against NumPy and SciPy."""

import numpy as np
import pytest

from fusewise.kernels import _tensors, edge_squares, factorised, squares_of

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
