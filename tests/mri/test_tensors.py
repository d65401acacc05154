"""torch against NumPy: every operation the two spell differently."""

import numpy as np
import pytest

from fusewise.kernels import to_host
from fusewise.mri import _tensors as tensors


def random_complex(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def test_real_matrix_times_complex_vectors(place):
    matrix, vectors = random_complex(3, 4, 5).real, random_complex(3, 5, 2, seed=1)
    np.testing.assert_allclose(to_host(tensors.real_times(place(matrix), place(vectors))), matrix @ vectors, atol=1e-12)
    # A slice is not contiguous: its parts must still lie side by side.
    found = tensors.real_times(place(matrix[0]), place(vectors[0].T.copy()).T)
    np.testing.assert_allclose(to_host(found), matrix[0] @ vectors[0], atol=1e-12)


@pytest.mark.parametrize(("precision", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("shape", [(5, 5), (4, 1, 1), (2, 3, 9, 9), (0, 4, 4)])
def test_inverses_are_numpys(place, precision, tolerance, shape):
    roots = random_complex(*shape).real
    matrices = (roots @ roots.swapaxes(-1, -2) + np.eye(shape[-1])).astype(precision)
    expected = np.linalg.inv(matrices.astype(float))
    found = to_host(tensors.inverse(place(matrices.copy())))
    assert found.dtype == precision
    np.testing.assert_allclose(found, expected, atol=tolerance)
