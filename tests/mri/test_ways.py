"""The solves against dense linear algebra, and leaving samples out against really doing so."""

import numpy as np
import pytest
from scipy import fft

from fusewise.mri._columns import Columns
from fusewise.mri._covariances import (
    LocalKernels,
    effective_rank,
    median_distance,
    squared_distances,
)
from fusewise.mri._interpolation import ByImage, BySample
from fusewise.mri._normal_equations import on_grid_equations
from fusewise.mri._phantom import make_phantom
from fusewise.mri._sampling import AXES, GridCells, Gridded, radial_mask, radial_trajectory, to_plain, transform
from fusewise.mri._tensors import gram
from fusewise.pairs import h1_weight


def test_kernel_is_the_h1_weight():
    """Two frames one sigma apart: exp(-1/2)."""
    kernel = h1_weight(np.array([[0.0, 3.0], [3.0, 0.0]]), 3.0)
    np.testing.assert_allclose(kernel, [[1, np.exp(-0.5)], [np.exp(-0.5), 1]], rtol=1e-6)


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


def test_shrunk_is_the_inverse():
    images, _, kernels = series()
    system, inverse = kernels.covariance, kernels.shrunk(2.0, 0.1)
    u = images + 0.1
    np.testing.assert_allclose(2.0 * system(inverse(u)) + 0.1 * inverse(u), u, atol=1e-4)


def test_tiles_at_rest_are_left_alone():
    images, _, _ = series()
    images = images.copy()
    images[:, :8] = images[0, :8]
    kernels = LocalKernels.of(images, 0.25, 8, 0.1)  # a window far narrower than a tile
    assert not kernels.covariance(np.ones_like(images))[:, :8].any()


def samples_of(images, mask):
    return (to_plain(transform(images)) * fft.ifftshift(mask, axes=AXES))[:, None]


def solvers(mask, samples, held=None, tol=1e-3):
    """Both ways to the same frames."""
    mask = fft.ifftshift(mask, axes=AXES)
    held = np.zeros_like(mask) if held is None else held
    parts = [on_grid_equations(Gridded(part), samples) for part in (mask & ~held, mask & held)]
    used = [Columns.of(part.reshape(len(mask), -1), samples) for part in (mask & ~held, mask)]
    return {
        "by sample": BySample(samples[:, 0], *used, tol=tol),
        "by image": ByImage(*parts, float(mask.mean()), tol=tol),
    }


def test_solves_are_the_dense_minimiser():
    """argmin ||A u - b||² + lam <u, K^-1 u> by dense linear algebra, pixels and frames all in one system."""
    rng = np.random.default_rng(0)
    frames, n = 4, 4
    images = (rng.standard_normal((frames, n, n)) + 1j * rng.standard_normal((frames, n, n))).astype(np.complex64)
    mask = rng.random(images.shape) < 0.5
    sampling = Gridded(fft.ifftshift(mask, axes=AXES))
    kernels, noise = LocalKernels.of(images, 0.5, 2, 2), 0.3
    samples = sampling.forward(images)
    units = np.eye(images.size, dtype=np.complex64).reshape(-1, *images.shape)
    normal = np.stack([sampling.adjoint(sampling.forward(e)).ravel() for e in units], axis=1)
    covariance = np.stack([kernels.covariance(e).ravel() for e in units], axis=1)
    z = np.linalg.solve(normal @ covariance + noise * np.eye(images.size), sampling.adjoint(samples).ravel())
    for name, solver in solvers(mask, samples, tol=1e-6).items():
        found = solver(kernels, noise, 300)
        np.testing.assert_allclose(found.centers.ravel(), covariance @ z, atol=1e-4, err_msg=name)


def held_out_scan():
    images, mask, kernels = series()
    samples = samples_of(images - images.mean(axis=0), mask)
    held = fft.ifftshift(mask, axes=AXES) & (np.random.default_rng(0).random(mask.shape) < 0.2)
    return mask, samples, held, kernels, 0.05 * kernels.variance


def test_samples_held_out_are_not_used():
    """Whatever they are, the frames are the same."""
    mask, samples, held, kernels, noise = held_out_scan()
    spoilt = np.where(held[:, None], 7.0 + 1j, samples).astype(np.complex64)
    for clean, other in zip(solvers(mask, samples, held).values(), solvers(mask, spoilt, held).values(), strict=True):
        found = clean(kernels, noise, 20, whole=False)
        np.testing.assert_array_equal(found.centers, other(kernels, noise, 20, whole=False).centers)


@pytest.mark.parametrize("name", ["by sample", "by image"])
def test_a_start_is_gone_on_from(name):
    images, mask, kernels = series()
    noise = 0.05 * kernels.variance
    solver = solvers(mask, samples_of(images - images.mean(axis=0), mask), tol=0)[name]
    first = solver(kernels, noise, 5)
    second = solver(kernels, noise, 1, start=first.dual)
    assert second.history[0] == pytest.approx(first.history[-1], rel=1e-3)


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
