"""Every operator: <A u, b> = <u, A' b>, agreement with the defining sum, and with the grid."""

from functools import partial

import numpy as np
import pytest

from fusewise.mri._fourier import transform
from fusewise.mri._operators import Cartesian, FourierSums, Nufft
from fusewise.mri._phantom import coil_maps
from fusewise.mri._trajectories import radial_mask, radial_trajectory

T, NY, NX = 3, 10, 9


def random_complex(shape, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def maps(n_coils):
    return random_complex((n_coils, NY, NX), 7)


def nufft(double=True, n_coils=3):
    pytest.importorskip("finufft")
    return Nufft(radial_trajectory(T, 16, 2, 1), maps(n_coils), double=double)


def sums():
    return FourierSums(radial_trajectory(T, 16, 2, 1), maps(3))


def operators():
    mask = radial_mask(T, (NY, NX), 2, 1)
    return {
        "cartesian": lambda: Cartesian(mask),
        "cartesian coils": lambda: Cartesian(mask, maps(3)),
        "nufft": nufft,
        "nufft one coil": lambda: nufft(n_coils=1),
        "sums": sums,
    }


@pytest.mark.parametrize("name", operators())
def test_adjoint(name):
    operator = operators()[name]()
    assert operator.shape == (T, NY, NX)
    u = random_complex(operator.shape, 1)
    b = random_complex(operator.forward(u).shape, 2)
    left, right = np.vdot(b, operator.forward(u)), np.vdot(operator.adjoint(b), u)
    assert left == pytest.approx(right, rel=1e-8)


def test_single_precision_adjoint():
    operator = nufft(double=False)
    u = random_complex(operator.shape, 1).astype(np.complex64)
    b = random_complex(operator.forward(u).shape, 2).astype(np.complex64)
    assert np.vdot(b, operator.forward(u)) == pytest.approx(np.vdot(operator.adjoint(b), u), rel=1e-4)


@pytest.mark.parametrize("make", [nufft, sums])
def test_samples_are_their_defining_sum(make):
    operator = make()
    u = random_complex(operator.shape, 3)
    y, x = np.mgrid[:NY, :NX]
    y, x = y - NY // 2, x - NX // 2
    for t, c, s in [(0, 0, 0), (1, 2, 5), (2, 1, 40)]:
        ky, kx = operator.trajectory[t, s]
        expected = np.sum(operator.maps[c] * u[t] * np.exp(-2j * np.pi * (ky * y + kx * x))) / np.sqrt(NY * NX)
        assert operator.forward(u)[t, c, s] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("make", [partial(Nufft, double=True), FourierSums])
def test_samples_at_grid_points_are_the_fft(make):
    pytest.importorskip("finufft")
    rows, columns = np.mgrid[:NY, :NX]
    places = np.stack([(rows - NY // 2) / NY, (columns - NX // 2) / NX], axis=-1).reshape(1, -1, 2)
    operator = make(places, np.ones((1, NY, NX), complex))
    u = random_complex((1, NY, NX), 4)
    np.testing.assert_allclose(operator.forward(u)[0, 0].reshape(NY, NX), transform(u[0]), atol=1e-8)


def test_full_sampling_with_normalised_maps_is_isometric():
    unit = coil_maps(4, 12).astype(complex)
    operator = Cartesian(np.ones((2, 12, 12), bool), unit)
    u = random_complex((2, 12, 12), 5)
    np.testing.assert_allclose(operator.adjoint(operator.forward(u)), u, atol=1e-5)
