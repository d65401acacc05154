"""The Fourier transform against its defining sum, and the identities every path rests on."""

import numpy as np
import pytest

from fusewise.kernels import placement, to_host
from fusewise.mri._fourier import invert, to_plain, transform
from fusewise.mri._tensors import fft2, ifft2

SHAPES = [(6, 8), (7, 5)]


def complex_array(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_defining_sum(shape):
    image = complex_array(shape)
    (ny, nx), (cy, cx) = shape, (shape[0] // 2, shape[1] // 2)
    y, x = np.mgrid[:ny, :nx]
    naive = np.array(
        [
            [np.sum(image * np.exp(-2j * np.pi * (f * (y - cy) / ny + g * (x - cx) / nx))) for g in np.arange(nx) - cx]
            for f in np.arange(ny) - cy
        ]
    )
    np.testing.assert_allclose(transform(image), naive / np.sqrt(ny * nx), atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_parseval_and_inverse(shape):
    a, b = complex_array((3, *shape)), complex_array((3, *shape), 1)
    assert np.vdot(transform(a), transform(b)) == pytest.approx(np.vdot(a, b))
    np.testing.assert_allclose(invert(transform(a)), a, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_plain_layout_is_the_same_transform(shape):
    a = complex_array((3, *shape))
    np.testing.assert_allclose(fft2(a), to_plain(transform(a)), atol=1e-12)
    np.testing.assert_allclose(ifft2(to_plain(transform(a))), a, atol=1e-12)


def test_plain_layout_on_torch():
    pytest.importorskip("torch")
    a = complex_array((3, 7, 6)).astype(np.complex64)
    np.testing.assert_allclose(to_host(to_plain(placement("torch")(a))), to_plain(a), rtol=1e-6)
