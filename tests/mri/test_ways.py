"""Local kernels and the solve under them against dense linear algebra."""

import numpy as np
import pytest

from fusewise.mri._covariances import (
    LocalKernels,
    effective_rank,
    median_distance,
    squared_distances,
)
from fusewise.mri._phantom import make_phantom
from fusewise.mri._sampling import GridCells, radial_mask, radial_trajectory
from fusewise.mri._tensors import gram
from fusewise.pairs import h1_weight


def test_median_is_of_different_frames():
    places = np.array([0.0, 1.0, 3.0])
    assert median_distance(np.subtract.outer(places, places) ** 2) == 4  # of 1, 4, 9
    assert median_distance(np.zeros((3, 3))) == 1


def test_effective_rank_of_a_projection():
    projection = np.diag([1.0, 1.0, 1.0, 0.0])
    assert effective_rank(projection, 1e-6) == 3


def series():
    images = make_phantom(16, 24, frame_time=0.1).images
    mask = radial_mask(16, (24, 24), 3, 2)
    return images, mask, LocalKernels.of(images, 0.25, 8, 8)


def test_local_kernels_are_a_covariance():
    """Symmetric and positive: <v, K u> = <K v, u>, <u, K u> >= 0; and one cell is one kernel."""
    images, _, kernels = series()
    rng = np.random.default_rng(0)
    u, v = ((rng.standard_normal(images.shape) + 1j).astype(np.complex64) for _ in range(2))
    assert np.vdot(v, kernels.covariance(u)) == pytest.approx(np.vdot(kernels.covariance(v), u), rel=1e-4)
    assert np.vdot(u, kernels.covariance(u)).real > 0
    one = LocalKernels.of(images, 0.25, 100, 100)
    expected = np.einsum("ts,syx->tyx", one.covariance.mean(), u)
    np.testing.assert_allclose(one.covariance(u), expected, atol=1e-4 * np.abs(expected).max())


def test_distances_of_a_tile_are_its_own():
    """With a window far narrower than a tile, a tile's distances and kernel are those of its pixels alone."""
    images, _, _ = series()
    kernels = LocalKernels.of(images, 0.25, 8, 0.1)
    part = images[:, 8:16, 16:24]
    alone = squared_distances(gram(part)) / part[0].size
    np.testing.assert_allclose(kernels.distances[5], alone, atol=1e-5 * alone.max())
    assert kernels.medians[5] == pytest.approx(float(median_distance(alone)), rel=1e-4)
    moved = kernels.covariance(images)[:, 8:16, 16:24]
    dense = h1_weight(alone, 0.25 * median_distance(alone)) + h1_weight(alone, median_distance(alone))
    expected = np.einsum("ts,syx->tyx", 0.5 * kernels.variances[5] * dense, part)
    np.testing.assert_allclose(moved, expected, atol=1e-4 * np.abs(expected).max())


def test_smoothing_is_the_covariance_times_the_inverse():
    """M = K (2 K + 0.1 I)^-1: 2 K M + 0.1 M = K."""
    images, _, kernels = series()
    covariance, smoothing = kernels.covariance, kernels.smoothing(2.0, 0.1)
    u = images + 0.1
    np.testing.assert_allclose(2.0 * covariance(smoothing(u)) + 0.1 * smoothing(u), covariance(u), atol=1e-4)


def test_one_kernel_of_given_distances():
    """The mean of the H1 weights at sigma² and at 4 sigma², for every pixel, whatever the unit of the distances."""
    images, _, _ = series()
    distances = squared_distances(gram(images))
    kernels = LocalKernels.of_distances(1e6 * distances, (24, 24), 0.5)
    middle = 0.5 * median_distance(distances)
    dense = 0.5 * (h1_weight(distances, middle) + h1_weight(distances, 4 * middle))
    expected = np.einsum("ts,syx->tyx", dense, images)
    np.testing.assert_allclose(kernels.covariance(images), expected, atol=1e-4 * np.abs(expected).max())
    assert kernels.variance == 1


def test_tiles_at_rest_are_left_alone():
    images, _, _ = series()
    images = images.copy()
    images[:, :8] = images[0, :8]
    kernels = LocalKernels.of(images, 0.25, 8, 0.1)  # a window far narrower than a tile
    assert not kernels.covariance(np.ones_like(images))[:, :8].any()


@pytest.mark.parametrize("used", [None, 0.7])
def test_cells_share_weight(used):
    """The weights of a cell's used samples sum to one, and means are means of them."""
    trajectory = radial_trajectory(3, 32, 2, 1)
    rng = np.random.default_rng(0)
    kept = rng.random(trajectory.shape[:2]) < (used or 1)
    cells = GridCells.of(trajectory, (16, 16)).using(kept)
    np.testing.assert_allclose(cells.weights.sum(axis=1), cells.mask.sum(axis=(1, 2)), rtol=1e-5)
    samples = rng.standard_normal((3, trajectory.shape[1])) + 0j
    means = cells.means(samples)
    cell = cells.index[1, np.flatnonzero(kept[1])[7]]
    members = (cells.index[1] == cell) & kept[1]
    assert means[1].ravel()[cell] == pytest.approx(samples[1][members].mean(), abs=1e-6)
    assert not means[~cells.mask].any()
