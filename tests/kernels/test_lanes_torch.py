"""Small factors by torch, against NumPy's."""

import numpy as np
import pytest

from fusewise.kernels.tensors import factorised, squares_of

torch = pytest.importorskip("torch")


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
