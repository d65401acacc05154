"""torch against NumPy: transforms, tiles and the whole reconstruction, to rounding."""

import numpy as np
import pytest

from fusewise.kernels import to_host
from fusewise.mri import make_phantom, radial_mask, radial_trajectory, reconstruct
from fusewise.mri._covariances import LocalMatrices, Tiles, median_distance, squared_distances
from fusewise.mri._phantom import coil_maps
from fusewise.mri._sampling import FourierSums, complex_noise, transform
from fusewise.mri._tensors import gram


def random_complex(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def gridded(images, mask, maps):
    """Samples of every coil, T x coils x ny x nx."""
    return transform(images[:, None] * maps) * mask[:, None]


def test_distances(place):
    rows = random_complex(5, 4)
    naive = np.array([[np.sum(np.abs(a - b) ** 2) for b in rows] for a in rows])
    found = squared_distances(gram(place(rows)))
    np.testing.assert_allclose(to_host(found), naive, atol=1e-12)
    assert median_distance(found) == pytest.approx(np.median(naive[np.triu_indices(5, 1)]))


def test_tiles_cover_the_image_once(place):
    """Pixels numbered and read tile by tile: every number once, as many as areas say, each within its rectangle."""
    numbers = np.arange(2 * 7 * 10).reshape(2, 7, 10)
    tiles = Tiles.of((7, 10), 3.0)
    found, areas = [], []
    for some, where in tiles.batches(place(numbers)):
        pixels = to_host(place(numbers)[where]).reshape(2, some.stop - some.start, -1)
        np.testing.assert_array_equal(pixels[1], pixels[0] + 70)
        areas += [pixels.shape[2]] * pixels.shape[1]
        found += pixels[0].ravel().tolist()
        for tile in pixels[0]:
            height, width = (len(set(part)) for part in np.divmod(tile, 10))
            assert height * width == len(tile)
            assert max(height, width) <= 4
    assert sorted(found) == list(range(70))
    np.testing.assert_array_equal(tiles.areas, areas)
    # The Gaussian about a tile holds one pixel in all.
    np.testing.assert_allclose(tiles.smoother(4.0) @ tiles.areas, 1)


def test_tiles_of_several_sizes_keep_their_matrices(place):
    """Each tile has its own multiple of the unit matrix, in the order of ``smoother``'s rows."""
    images = random_complex(3, 7, 10).astype(np.complex64)
    tiles = Tiles.of((7, 10), 3.0)
    near = tiles.smoother(2.0)
    matrices = near[:, :1, None] * np.eye(3)
    found = to_host(LocalMatrices(tiles, place(matrices.astype(np.float32)))(place(images)))
    factors = (found / images).real
    for some, (_, rows, columns) in tiles.batches(np.zeros(1)):
        np.testing.assert_allclose(factors[:, rows, columns], near[some.start, 0], rtol=1e-4)
    in_place = place(images.copy())
    LocalMatrices(tiles, place(matrices.astype(np.float32)))(in_place, out=in_place)
    np.testing.assert_array_equal(to_host(in_place), found)


@pytest.mark.parametrize("coils", [1, 3])
def test_gridded_reconstruction_agrees(coils):
    pytest.importorskip("torch")
    phantom = make_phantom(30, 32, n_coils=coils, frame_time=0.06)
    mask = radial_mask(30, (32, 32), 4, 3)
    maps = None if coils == 1 else phantom.maps
    kspace = gridded(phantom.images, mask, phantom.maps)
    kspace = kspace + complex_noise(kspace.shape, 0.05, 0) * mask[:, None]
    first, second = (reconstruct(kspace, mask, maps=maps, device=d, random_state=0) for d in ("cpu", "torch"))
    assert second.images.dtype == np.complex64
    assert first.local.tried[0][2] == pytest.approx(second.local.tried[0][2], abs=0.01)
    # Conjugate gradients in single precision: the rounding of a step grows a little in those after it.
    assert np.abs(first.images - second.images).max() < 1e-3 * np.abs(first.images).max()


@pytest.mark.parametrize("coils", [1, 3])
def test_radial_reconstruction_agrees(coils):
    pytest.importorskip("torch")
    phantom = make_phantom(30, 32, n_coils=coils, frame_time=0.06)
    trajectory = radial_trajectory(30, 32, 6, 3)
    kspace = FourierSums(trajectory, phantom.maps).forward(phantom.images)
    first, second = (
        reconstruct(kspace, trajectory=trajectory, maps=phantom.maps, device=d, random_state=0)
        for d in ("cpu", "torch")
    )
    assert second.images.dtype == np.complex64
    assert first.local.tried[0][2] == pytest.approx(second.local.tried[0][2], abs=0.01)
    assert np.abs(first.images - second.images).max() < 1e-3 * np.abs(first.images).max()


def test_maps_of_gridded_coils_may_be_left_out():
    phantom = make_phantom(30, 32, n_coils=4, frame_time=0.06)
    mask = radial_mask(30, (32, 32), 4, 3)
    kspace = gridded(phantom.images, mask, coil_maps(4, 32))
    given = reconstruct(kspace, mask, maps=phantom.maps, random_state=0).images
    guessed = reconstruct(kspace, mask, random_state=0).images
    truth = np.abs(phantom.images)
    error = [np.linalg.norm(np.abs(u) - truth) / np.linalg.norm(truth) for u in (given, guessed)]
    assert error[0] < 0.05
    assert error[1] < 0.1
