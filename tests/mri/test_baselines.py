"""The benchmarks' own code: baselines off the grid against dense algebra."""

import sys
from pathlib import Path

import numpy as np
import pytest

from fusewise.mri import Scan, invert, make_phantom, radial_mask, radial_trajectory, sample_grid
from fusewise.mri._sampling import FourierSums, GridCells, transform

FOLDER = Path(__file__).parents[2] / "benchmarks" / "mri"


@pytest.fixture(scope="module", autouse=True)
def benchmarks():
    """Scripts import each other by bare names."""
    if not FOLDER.exists():
        pytest.skip("no benchmarks beside these tests")
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


def dense_sense(scan, weights, pull, towards=0.0):
    """min sum_j w_j ||W (A_j u - b_j)||² + pull ||u - towards||², the weights W as the scan's, by dense algebra."""
    shape = scan.maps.shape[1:]
    roots = np.sqrt(GridCells.of(scan.trajectory, shape).weights)
    y, x = np.mgrid[: shape[0], : shape[1]]
    places = np.stack([y - shape[0] // 2, x - shape[1] // 2], axis=-1).reshape(-1, 2)
    normal, target = pull * np.eye(len(places), dtype=complex), pull * np.ravel(towards) * np.ones(len(places), complex)
    for w, path, samples, root in zip(weights, scan.trajectory, scan.kspace, roots, strict=True):
        waves = np.exp(-2j * np.pi * path @ places.T) / np.sqrt(len(places))
        for coil, seen in zip(scan.maps, samples, strict=True):
            matrix = root[:, None] * waves * coil.ravel()
            normal += w * matrix.conj().T @ matrix
            target += w * matrix.conj().T @ (root * seen)
    return np.linalg.solve(normal, target).reshape(shape)


def test_least_squares_baselines_are_the_dense_solutions():
    import baselines

    phantom = make_phantom(12, 24, n_coils=3, frame_time=0.1)
    trajectory = radial_trajectory(12, 24, 5, 3)
    kspace = FourierSums(trajectory, phantom.maps).forward(phantom.images)
    data = Scan(kspace, trajectory=trajectory, maps=phantom.maps)
    found = baselines.sense(data, pull=0.1, steps=60)
    np.testing.assert_allclose(found[4], dense_sense(data, np.eye(12)[4], 0.1), atol=2e-3)
    mean = baselines.temporal_mean(data)
    np.testing.assert_allclose(mean[7], dense_sense(data, np.full(12, 1 / 12), 1e-3), atol=5e-3)
    near = 0.1 * (np.abs(np.arange(12) - 6) <= 2) / 5 + np.eye(12)[6]
    shared = baselines.view_sharing(data, half_width=2, pull=0.1, steps=60)
    np.testing.assert_allclose(shared[6], dense_sense(data, near, 0.1, mean[6]), atol=2e-3)


def test_baselines_on_the_grid():
    """Zero-filled: the samples alone. View sharing of all frames: these, and the temporal mean elsewhere."""
    import baselines

    phantom = make_phantom(12, 24, frame_time=0.1)
    mask = radial_mask(12, (24, 24), 3, 2)
    kspace = sample_grid(phantom.images, mask)
    scan = Scan(kspace[:, None], mask)
    np.testing.assert_allclose(transform(baselines.adjoint(scan)), kspace, atol=1e-5)
    mean = invert(kspace.sum(axis=0) / np.maximum(mask.sum(axis=0), 1))
    near = 2e-2 * np.abs(mean).max()  # the mean is pulled to zero a little
    np.testing.assert_allclose(baselines.temporal_mean(scan)[3], mean, atol=near)
    filled = invert(np.where(mask, kspace, transform(mean)))
    np.testing.assert_allclose(baselines.view_sharing(scan, half_width=12, steps=60)[3], filled[3], atol=near)
