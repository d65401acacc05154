"""Fourier transforms, patterns and operators against their defining sums; noise of the size it says."""

import numpy as np
import pytest

from fusewise.kernels import placement, to_host
from fusewise.mri._sampling import (
    GOLDEN_ANGLE,
    FourierSums,
    Gridded,
    invert,
    line_angles,
    radial_mask,
    radial_trajectory,
    sample_grid,
    to_plain,
    transform,
)
from fusewise.mri._tensors import fft2, ifft2

T, NY, NX = 3, 10, 9
SHAPES = [(6, 8), (7, 5)]


def random_complex(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def waves(positions, shape):
    """exp(-2 pi i k . (x - centre)) / sqrt(pixels): positions x pixels."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    places = np.stack([y - shape[0] // 2, x - shape[1] // 2], axis=-1).reshape(-1, 2)
    return np.exp(-2j * np.pi * positions @ places.T) / np.sqrt(len(places))


def grid_points(shape):
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    points = [(rows - shape[0] // 2) / shape[0], (columns - shape[1] // 2) / shape[1]]
    return np.stack(points, axis=-1).reshape(-1, 2)


@pytest.mark.parametrize("shape", SHAPES)
def test_transform_is_its_defining_sum(shape):
    a, b = random_complex((3, *shape)), random_complex((3, *shape), 1)
    expected = a.reshape(3, -1) @ waves(grid_points(shape), shape).T
    np.testing.assert_allclose(transform(a).reshape(3, -1), expected, atol=1e-12)
    assert np.vdot(transform(a), transform(b)) == pytest.approx(np.vdot(a, b))
    np.testing.assert_allclose(invert(transform(a)), a, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_plain_layout_is_the_same_transform(shape):
    a = random_complex((3, *shape))
    np.testing.assert_allclose(fft2(a), to_plain(transform(a)), atol=1e-12)
    np.testing.assert_allclose(ifft2(to_plain(transform(a))), a, atol=1e-12)


def test_plain_layout_on_torch():
    pytest.importorskip("torch")
    a = random_complex((3, 7, 6)).astype(np.complex64)
    np.testing.assert_allclose(to_host(to_plain(placement("torch")(a))), to_plain(a), rtol=1e-6)


OPERATORS = {
    "grid": Gridded(radial_mask(T, (NY, NX), 2, 1)),
    "grid, coils": Gridded(radial_mask(T, (NY, NX), 2, 1), random_complex((3, NY, NX), 7)),
    "sums": FourierSums(radial_trajectory(T, 16, 2, 1), random_complex((3, NY, NX), 7)),
    "sums, one coil": FourierSums(radial_trajectory(T, 16, 2, 1), random_complex((1, NY, NX), 7)),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_adjoint(name):
    operator = OPERATORS[name]
    u = random_complex((T, NY, NX), 1)
    b = random_complex(operator.forward(u).shape, 2)
    if "grid" in name:
        b = b * operator.mask[:, None]
    assert np.vdot(b, operator.forward(u)) == pytest.approx(np.vdot(operator.adjoint(b), u), rel=1e-8)


def test_sums_are_what_they_say(place):
    """In double and in single precision, of frames in one batch and in several."""
    double = OPERATORS["sums"]
    u = random_complex((T, NY, NX), 3)
    seen = (double.maps * u[:, None]).reshape(T, 3, -1)
    expected = np.stack([seen[t] @ waves(double.trajectory[t], (NY, NX)).T for t in range(T)])
    for kind, accuracy in (("complex128", 1e-10), ("complex64", 1e-5)):
        operator = FourierSums(place(double.trajectory), place(double.maps.astype(kind)))
        found = to_host(operator.forward(place(u.astype(kind))))
        assert found.dtype == kind
        np.testing.assert_allclose(found, expected, atol=accuracy * np.abs(expected).max())


def test_golden_lines_go_on_from_frame_to_frame():
    assert np.degrees(GOLDEN_ANGLE) == pytest.approx(111.246, abs=1e-3)  # Winkelmann et al. 2007
    angles = line_angles(3, 2, navigators=1)
    np.testing.assert_array_equal(angles[:, 0], 0)
    np.testing.assert_allclose(np.diff(angles[:, 1:].ravel()), GOLDEN_ANGLE)


def test_one_horizontal_line():
    mask = radial_mask(2, (9, 10), golden=0, navigators=1)
    expected = np.zeros((9, 10), bool)
    expected[4] = True
    np.testing.assert_array_equal(mask, [expected, expected])


def test_lines_pass_through_the_centre_and_have_no_gaps():
    mask = radial_mask(20, (32, 32), golden=1, navigators=0)
    assert mask[:, 16, 16].all()
    # A line through the centre meets 32 rows or columns, less the corner it may miss.
    longest = np.maximum(mask.any(axis=1).sum(axis=1), mask.any(axis=2).sum(axis=1))
    assert (longest >= 22).all()  # 32 / sqrt(2) at 45 degrees
    assert (mask.sum(axis=(1, 2)) >= longest).all()


def test_trajectory_and_mask_agree():
    trajectory = radial_trajectory(4, 64, golden=3, navigators=1)
    mask = radial_mask(4, (32, 32), golden=3, navigators=1)
    assert np.abs(trajectory).max() <= 0.5
    cells = np.rint(16 + 32 * trajectory).astype(int)
    inside = (cells < 32).all(axis=2)
    hits = [mask[t][tuple(cells[t][inside[t]].T)].mean() for t in range(4)]
    assert min(hits) == 1


def test_noise_has_its_standard_deviation():
    images = np.zeros((4, 32, 32), complex)
    images[:, 16, 16] = 2.0
    mask = np.ones(images.shape, bool)
    noise = sample_grid(images, mask, noise=0.1, random_state=3) - transform(images)
    # 4096 complex samples: the mean square scatters by 1/sqrt(4096) about its expectation.
    assert np.mean(np.abs(noise) ** 2) == pytest.approx((0.1 * 2.0) ** 2, rel=5 / 64)
    assert not sample_grid(images + 1, radial_mask(4, (32, 32)), noise=0.5)[~radial_mask(4, (32, 32))].any()
