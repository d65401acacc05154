"""Fourier samples in the core: the protocol's identities; the gridded and the operator path give the same frames."""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from fusewise.mri._covariances import squared_distances
from fusewise.mri._fourier import invert, transform
from fusewise.mri._operators import Cartesian
from fusewise.mri._phantom import coil_maps, make_phantom
from fusewise.mri._tensors import gram
from fusewise.mri._trajectories import radial_mask
from fusewise.penalties import H1

FOLDER = Path(__file__).parents[2] / "benchmarks" / "mri"
if not FOLDER.exists():
    pytest.skip("no benchmarks beside these tests", allow_module_level=True)
sys.path.insert(0, str(FOLDER))
from observed import FourierObservations, frame_affinities, fuse_frames, grid_entries  # noqa: E402

sys.path.remove(str(FOLDER))


def scan(n_frames=12, size=16):
    images = make_phantom(n_frames, size, frame_time=0.1).images.astype(complex)
    mask = radial_mask(n_frames, (size, size), 3, 2)
    return images, mask


def observations(coils):
    images, mask = scan(5, 12)
    operator = Cartesian(mask, None if coils == 1 else coil_maps(coils, 12).astype(complex))
    return FourierObservations(operator, operator.forward(images)), images.reshape(5, -1)


@pytest.mark.parametrize("coils", [1, 3])
def test_misfit_gradient(coils):
    """The derivative of the misfit along a direction, by central differences."""
    seen, truth = observations(coils)
    assert seen.misfit(truth) < 1e-20
    rng = np.random.default_rng(0)
    u = truth + rng.standard_normal(truth.shape)
    d = rng.standard_normal(truth.shape) + 1j * rng.standard_normal(truth.shape)
    slope = (seen.misfit(u + 1e-4 * d) - seen.misfit(u - 1e-4 * d)) / 2e-4
    assert slope == pytest.approx(2 * np.vdot(seen.normal(u) - seen.target, d).real, rel=1e-6)


@pytest.mark.parametrize("coils", [1, 3])
def test_solve_is_stationary(coils):
    """A'A u - A'b + t (u - v) = 0."""
    seen, truth = observations(coils)
    anchors = truth + 0.3
    pull = np.linspace(0.05, 2, len(truth))
    u = seen.solve(anchors, pull)
    gradient = seen.normal(u) - seen.target + pull[:, None] * (u - anchors)
    assert np.abs(gradient).max() < 1e-7


@pytest.mark.parametrize("coils", [1, 3])
def test_preconditioner_is_positive(coils):
    seen, truth = observations(coils)
    rng = np.random.default_rng(1)
    inverse = seen.preconditioner(np.full(len(truth), 0.1))
    for _ in range(5):
        r = rng.standard_normal(truth.shape) + 1j * rng.standard_normal(truth.shape)
        assert np.vdot(r, inverse(r)).real > 0


def test_grid_and_operator_agree():
    """By Parseval the two problems are one: the frames agree to 1e-6."""
    images, mask = scan()
    kspace = transform(images) * mask
    affinities = frame_affinities(squared_distances(gram(images)))
    penalty, lam = H1(2.0), 0.5
    n = len(images)
    rows = grid_entries(kspace, mask)
    start = np.broadcast_to(rows.column_means, rows.shape).copy()
    settings = {"max_iter": 400, "tol": 1e-9}
    on_grid = fuse_frames(rows, affinities, penalty, lam, start, **settings)
    through = FourierObservations(Cartesian(mask), kspace)
    beginning = invert(start.reshape(images.shape)).reshape(n, -1)
    by_operator = fuse_frames(through, affinities, penalty, lam, beginning, **settings)
    assert on_grid.status == by_operator.status == "converged"
    assert on_grid.history[-1] == pytest.approx(by_operator.history[-1], rel=1e-9)
    difference = on_grid.centers.reshape(images.shape) - transform(by_operator.centers.reshape(images.shape))
    assert np.abs(difference).max() < 1e-6 * np.abs(kspace).max()


def test_fusion_never_rises():
    images, mask = scan()
    seen = grid_entries(transform(images) * mask, mask)
    affinities = frame_affinities(squared_distances(gram(images)))
    history = fuse_frames(seen, affinities, H1(1.0), 1.0, seen.fill(seen.column_means), max_iter=10).history
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(history))


def test_affinities_of_points_on_a_line():
    """Equally spaced points, one neighbour: s_i² = 1, so exp(-1) next to each other unless time says more."""
    places = np.arange(5.0)
    found = frame_affinities(np.square(places[:, None] - places), n_neighbors=1, temporal=0.0).toarray()
    expected = np.exp(-1) * (np.abs(np.subtract.outer(places, places)) == 1)
    np.testing.assert_allclose(found, expected)
    joined = frame_affinities(np.square(places[:, None] - places), n_neighbors=1, temporal=0.5).toarray()
    assert joined[0, 1] == joined[1, 0] == 0.5
