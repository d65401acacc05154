"""The solves against dense linear algebra, and leaving samples out against really doing so."""

import numpy as np
import pytest
from scipy import fft

from fusewise.mri.cells import Cells
from fusewise.mri.fourier import AXES, to_plain, transform
from fusewise.mri.interpolate import Gridded, LocationInverse, frames_of, group_locations, solve_local
from fusewise.mri.kernels import LocalKernels, effective_rank, gram, h1_kernel, squared_distances
from fusewise.mri.operators import Cartesian
from fusewise.mri.phantom import make_phantom
from fusewise.mri.sampling import radial_mask, radial_trajectory


def problem(t=9, p=14, seed=0):
    rng = np.random.default_rng(seed)
    mask = rng.random((t, p)) < 0.4
    mask[:, 0], mask[:, 1] = True, False
    values = (rng.standard_normal((t, p)) + 1j * rng.standard_normal((t, p))) * mask
    kernel = h1_kernel(squared_distances(gram(rng.standard_normal((t, 3)))), 0.5)
    return kernel, mask, values.astype(np.complex64)


def test_distances_are_distances():
    rows = np.random.default_rng(0).standard_normal((5, 4)) + 1j
    naive = [[np.sum(np.abs(a - b) ** 2) for b in rows] for a in rows]
    np.testing.assert_allclose(squared_distances(gram(rows)), naive, atol=1e-12)


def test_kernel_is_the_h1_weight_at_the_median():
    """Two frames at the median distance, scale 1: exp(-1/2)."""
    kernel = h1_kernel(np.array([[0.0, 3.0], [3.0, 0.0]]), 1.0)
    np.testing.assert_allclose(kernel, [[1, np.exp(-0.5)], [np.exp(-0.5), 1]], rtol=1e-6)


def test_effective_rank_of_a_projection():
    projection = np.diag([1.0, 1.0, 1.0, 0.0])
    assert effective_rank(projection, 1e-6) == 3


def test_groups_hold_every_location_once():
    _, mask, _ = problem(20, 200)
    groups = group_locations(mask)
    columns = np.concatenate([g.columns for g in groups])
    assert sorted(columns) == sorted(np.flatnonzero(mask.any(axis=0)))
    for g in groups:
        for column, rows, seen in zip(g.columns, g.rows, g.seen, strict=True):
            np.testing.assert_array_equal(np.sort(rows[seen]), np.flatnonzero(mask[:, column]))


def test_solve_is_kernel_regression():
    kernel, mask, values = problem()
    found = LocationInverse.under(kernel, group_locations(mask), 0.1).solve(values)
    for column in range(values.shape[1]):
        s = np.flatnonzero(mask[:, column])
        dense = kernel[:, s] @ np.linalg.solve(kernel[np.ix_(s, s)] + 0.1 * np.eye(len(s)), values[s, column])
        np.testing.assert_allclose(found[:, column], dense, atol=1e-4)


def test_leaving_out_is_leaving_out():
    kernel, mask, values = problem()
    energy = 0.0
    for column in range(1, values.shape[1]):  # the first is seen by all, and not judged
        seen = np.flatnonzero(mask[:, column])
        for i in seen:
            s = seen[seen != i]
            weights = np.linalg.solve(kernel[np.ix_(s, s)] + 0.1 * np.eye(len(s)), values[s, column])
            energy += abs(values[i, column] - kernel[i, s] @ weights) ** 2
    assert LocationInverse.under(kernel, group_locations(mask), 0.1).left_out(values) == pytest.approx(energy, rel=1e-3)


def series():
    images = make_phantom(16, 24, frame_time=0.1).images
    mask = radial_mask(16, (24, 24), 3, 2)
    return images, mask, LocalKernels.of(images, 0.25, 8, 8)


def test_local_kernels_are_a_covariance():
    """Symmetric and positive: <v, K u> = <K v, u>, <u, K u> >= 0; and one cell is one kernel."""
    images, _, kernels = series()
    rng = np.random.default_rng(0)
    u, v = ((rng.standard_normal(images.shape) + 1j).astype(np.complex64) for _ in range(2))
    assert np.vdot(v, kernels.apply(u)) == pytest.approx(np.vdot(kernels.apply(v), u), rel=1e-4)
    assert np.vdot(u, kernels.apply(u)).real > 0
    one = LocalKernels.of(images, 0.25, 100, 100)
    expected = np.einsum("ts,syx->tyx", one.mean_kernel(), u)
    np.testing.assert_allclose(one.apply(u), expected, atol=1e-4 * np.abs(expected).max())


def test_variance_is_that_of_the_images():
    images, _, _ = series()
    one = LocalKernels.of(images, 0.25, 100, 100)
    moving = images - images.mean(axis=0)
    assert one.variance == pytest.approx(float(np.mean(np.abs(moving) ** 2)), rel=1e-4)


def test_cells_at_rest_are_left_alone():
    images, _, _ = series()
    images = images.copy()
    images[:, :8] = images[0, :8]
    kernels = LocalKernels.of(images, 0.25, 8, 0.1)  # a window far narrower than a cell
    assert not kernels.apply(np.ones_like(images))[:, :8].any()


def samples_of(images, mask):
    return to_plain(transform(images)) * fft.ifftshift(mask, axes=AXES)


def test_local_solve_satisfies_its_system():
    images, mask, kernels = series()
    sampling = Gridded(fft.ifftshift(mask, axes=AXES))
    noise = 0.05 * kernels.variance
    samples = samples_of(images - images.mean(axis=0), mask)
    inverse = LocationInverse.under(kernels.mean_kernel(), group_locations(sampling.mask.reshape(16, -1)), noise)

    def precondition(residual):
        return inverse.apply(residual.reshape(16, -1)).reshape(residual.shape)

    dual, history = solve_local(sampling, samples, kernels, noise, precondition, steps=100, tol=1e-4)
    left = sampling.forward(frames_of(sampling, dual, kernels)) + noise * dual
    assert np.linalg.norm(left - samples) < 2e-3 * np.linalg.norm(samples)
    assert history[-1] <= 1e-4
    plain, slow = solve_local(sampling, samples, kernels, noise, lambda r: r, steps=100, tol=1e-4)
    assert len(history) < len(slow)  # the preconditioner earns its keep
    assert np.linalg.norm(plain - dual) < 5e-3 * np.linalg.norm(dual)


def test_gridded_and_operator_solves_agree():
    images, mask, kernels = series()
    noise = 0.1 * kernels.variance
    moving = images - images.mean(axis=0)
    gridded = Gridded(fft.ifftshift(mask, axes=AXES))
    operator = Cartesian(mask)
    first, _ = solve_local(gridded, samples_of(moving, mask), kernels, noise, lambda r: r, steps=60, tol=1e-6)
    second, _ = solve_local(operator, operator.forward(moving), kernels, noise, lambda r: r, steps=60, tol=1e-6)
    a, b = frames_of(gridded, first, kernels), frames_of(operator, second, kernels)
    assert np.abs(a - b).max() < 1e-5 * np.abs(a).max()  # single precision


def test_cells_share_weight():
    """H' H = I on the cells seen, and means are means."""
    trajectory = radial_trajectory(3, 32, 2, 1)
    cells = Cells.of(trajectory, (16, 16))
    rng = np.random.default_rng(0)
    grid = (rng.standard_normal(cells.mask.shape) * cells.mask).astype(np.complex64)
    np.testing.assert_allclose(cells.gather(cells.spread(grid)), grid, atol=1e-5)
    np.testing.assert_allclose(
        fft.ifftshift(cells.means(np.ones((3, trajectory.shape[1]))), axes=AXES).reshape(3, -1), cells.mask, atol=1e-6
    )
    inverse = cells.preconditioner(np.eye(3, dtype=np.float32), 0.1)
    b = (rng.standard_normal((3, 2, trajectory.shape[1])) + 1j).astype(np.complex64)
    assert np.vdot(b, inverse(b)).real > 0
