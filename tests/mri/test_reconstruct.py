"""The whole way: better than what it starts from, seeded, honest about bad input; labels by phase; files."""

import numpy as np
import pytest
from scipy import fft
from scipy.ndimage import gaussian_filter

from fusewise.mri import make_phantom, radial_mask, radial_trajectory, reconstruct, sample_grid
from fusewise.mri._covariances import squared_distances
from fusewise.mri._local import BORDERS, LocalProblem, band_factors, filtered
from fusewise.mri._normal_equations import on_grid_equations
from fusewise.mri._result import ser
from fusewise.mri._sampling import (
    AXES,
    FourierSums,
    Gridded,
    compress_coils,
    guess_shape,
    invert,
    radii,
    sensitivity_maps,
    transform,
)
from fusewise.mri._tensors import fft2, gram, ifft2, resampled
from fusewise.progress import silent

N, SIZE = 50, 40


def gridded(images, mask, maps):
    """Samples of every coil, T x coils x ny x nx."""
    return transform(images[:, None] * maps) * mask[:, None]


@pytest.fixture(scope="module")
def phantom():
    return make_phantom(N, SIZE, frame_time=0.06)


@pytest.fixture(scope="module")
def scan(phantom):
    mask = radial_mask(N, (SIZE, SIZE), 4, 3)
    return sample_grid(phantom.images, mask), mask


@pytest.fixture(scope="module")
def found(scan):
    return reconstruct(*scan, random_state=0)


def test_ser_of_known_errors():
    x = np.random.default_rng(0).random((2, 12, 12)) + 1
    assert ser(x, 1.1 * x) == pytest.approx(20)
    assert ser(x, x) == np.inf
    box = slice(2, 4), slice(5, 9)
    wrong = x.copy()
    wrong[:, 2:4, 5:9] *= 2
    assert ser(x, wrong, box) == pytest.approx(0)


def test_far_above_zero_filling_and_the_mean(phantom, scan, found):
    kspace, _ = scan
    zero = ser(phantom.images, invert(kspace), phantom.heart)
    mean = ser(phantom.images, np.broadcast_to(phantom.images.mean(axis=0), phantom.images.shape), phantom.heart)
    # 10 dB is a tenth of the error energy of the better of the two.
    assert ser(phantom.images, found.images, phantom.heart) > max(zero, mean) + 10


def test_what_was_chosen_is_told(found):
    assert found.images.shape == (N, SIZE, SIZE)
    assert found.images.dtype == np.complex64  # double precision would double time and memory, and gain nothing
    assert found.lam > 0
    assert found.sigma > 0
    assert 1 <= found.rank <= N
    assert found.history[-1] < found.history[0]
    assert (found.local.scale, found.local.noise, found.local.score) in found.local.tried


def test_mask_is_read_off_the_zeros(scan, found):
    np.testing.assert_array_equal(reconstruct(scan[0], random_state=0).images, found.images)


def test_noise_is_noticed(phantom, scan):
    noisy = reconstruct(sample_grid(phantom.images, scan[1], noise=0.1), scan[1], random_state=0)
    clean = reconstruct(*scan, random_state=0)
    assert noisy.local.noise > clean.local.noise


@pytest.fixture(scope="module")
def beating():
    """A series, its mean frame, and what is solved for the deviations from it."""
    images = make_phantom(12, 24, frame_time=0.1).images
    mask = fft.ifftshift(radial_mask(12, (24, 24), 3, 2), axes=AXES)
    held = np.random.default_rng(0).random(images.shape) < 0.1
    mean = images.mean(axis=0)
    parts = [Gridded(mask & ~held), Gridded(mask & held)]
    fitted, unseen = (on_grid_equations(part, part.forward(images - mean)) for part in parts)
    return images, mean, (fitted, unseen, unseen, 0.3)


class Interrupted(LocalProblem):
    """Ctrl-C in the solve of a number."""

    calls, stop_at = 0, 0

    def _interpolated(self, *args):
        self.calls += 1
        if self.calls == self.stop_at:
            raise KeyboardInterrupt
        return super()._interpolated(*args)


def test_rounds_gain_and_are_told(beating):
    """Scores of the trials and of the rounds are kept, the best is returned, and the frames are near the truth."""
    images, mean, equations = beating
    heard = []
    blurred = gaussian_filter(images.real, (0, 2, 2))
    found = LocalProblem(*equations).solve(mean, squared_distances(gram(blurred)), heard.append)
    told = [message for message in heard if "held-out samples" in message]
    assert len(found.local.tried) == len(told)
    assert found.local.score == max(score for _, _, score in found.local.tried)
    assert found.local.score > found.local.tried[0][2] + 3  # decibels above the first frames
    assert ser(images, found.images) > 15


def test_factors_are_those_of_least_squares():
    """Against the misfit itself, with every sample held out: a band of noise is dropped, the others are kept."""
    rng = np.random.default_rng(0)
    images = (rng.standard_normal((4, 20, 20)) + 1j * rng.standard_normal((4, 20, 20))).astype(np.complex64)
    where = fft.ifftshift(radii((20, 20)), axes=AXES)
    truth = ifft2(fft2(images) * np.where(np.digitize(where, BORDERS) < 6, 0.5, 0)).astype(np.complex64)
    judge = on_grid_equations(Gridded(np.ones(images.shape, bool)), fft2(truth)[:, None])
    np.testing.assert_allclose(filtered(images, band_factors(images, judge)), truth, atol=1e-4)
    noisy = ifft2(fft2(images) + 0.3 * fft2(images)[::-1])
    fitted, bands = band_factors(noisy, judge), np.digitize(where, BORDERS)
    for band in range(len(BORDERS) + 1):
        for change in (-0.02, 0.02):
            other = np.where(bands == band, np.clip(fitted + change, 0, 1), fitted)
            assert judge.misfit(filtered(noisy, fitted)) <= judge.misfit(filtered(noisy, other)) * (1 + 1e-5)


def test_bands_without_held_out_samples_are_left_alone():
    images = np.random.default_rng(0).standard_normal((3, 16, 16)).astype(np.complex64)
    where = fft.ifftshift(radii((16, 16)), axes=AXES)
    judge = on_grid_equations(Gridded(np.broadcast_to(where < 0.3, images.shape)), 0 * images[:, None])
    factors = band_factors(images, judge)
    np.testing.assert_array_equal(factors[where >= BORDERS[1]], 1)
    assert factors[where < BORDERS[0]].max() < 1e-4


@pytest.mark.parametrize("shape", [(74, 67), (64, 80)])
def test_images_large_enough_to_be_halved_first(shape):
    """On the grid of any size; and scores of both resolutions are kept."""
    images = resampled(make_phantom(16, 80, frame_time=0.1).images, shape)
    mask = radial_mask(16, shape, 5, 2)
    kspace = sample_grid(images, mask)
    found = reconstruct(kspace, mask, random_state=0)
    assert found.images.shape == images.shape
    assert found.local.score == max(score for _, _, score in found.local.tried)
    assert ser(images, found.images) > ser(images, invert(kspace)) + 10


@pytest.mark.parametrize("size", [64, 67, 74])
def test_coils_whose_maps_end(size):
    """Nothing is outside the maps, and of noiseless data as much is found inside as of maps without an end."""
    truth, mask = make_phantom(20, size, n_coils=4, frame_time=0.1), radial_mask(20, (size, size), 8, 4)
    inside = np.hypot(*np.ogrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]) < 0.92
    scores = []
    for maps in (truth.maps, truth.maps * inside):
        images = truth.images * inside
        kspace = sample_grid(images[:, None] * maps, mask[:, None])
        found = reconstruct(kspace, mask, maps=maps, random_state=0).images
        scores.append(ser(images, found, truth.heart))
    assert not found[:, ~inside].any()
    assert scores[1] > scores[0] - 0.5


@pytest.mark.parametrize("stop_at", [3, 5])
def test_interrupted_gives_the_best_so_far(beating, stop_at):
    images, mean, equations = beating
    problem = Interrupted(*equations)
    problem.stop_at = stop_at
    with pytest.warns(UserWarning, match="interrupted"):
        found = problem.solve(mean, squared_distances(gram(images)), silent)
    assert found.local.score == max(score for _, _, score in found.local.tried)
    assert ser(images, found.images) > 15


def test_interrupted_before_there_is_anything(beating):
    images, mean, equations = beating
    problem = Interrupted(*equations)
    problem.stop_at = 1
    with pytest.raises(KeyboardInterrupt):
        problem.solve(mean, squared_distances(gram(images)), silent)


def test_a_still_series_is_its_mean():
    still = np.repeat(make_phantom(1, 24).images, 12, axis=0)
    mask = radial_mask(12, (24, 24), 6, 3)
    found = reconstruct(sample_grid(still, mask), mask, random_state=0)
    # Where no frame looked (the corners of k-space) nothing can be known.
    seen = transform(still) * mask.any(axis=0)
    assert ser(invert(seen), found.images) > 40
    np.testing.assert_array_equal(found.labels, 0)


@pytest.mark.parametrize("given", [True, False])
def test_radial_with_coils(given):
    phantom = make_phantom(30, 32, n_coils=3, frame_time=0.08)
    trajectory = radial_trajectory(30, 32, 6, 3)
    kspace = FourierSums(trajectory, phantom.maps).forward(phantom.images)
    maps = phantom.maps if given else None
    found = reconstruct(kspace, trajectory=trajectory, maps=maps, random_state=0)
    # Estimated maps leave the phase of the images open.
    assert found.images.dtype == np.complex64
    truth, images = (phantom.images, found.images) if given else (np.abs(phantom.images), np.abs(found.images))
    assert ser(truth, images, phantom.heart) > (20 if given else 10)


def test_maps_are_found_up_to_phase():
    pytest.importorskip("sigpy")
    phantom = make_phantom(30, 32, n_coils=4)
    trajectory = radial_trajectory(30, 32, 6, 3)
    kspace = FourierSums(trajectory, phantom.maps).forward(phantom.images)
    maps = sensitivity_maps(kspace, trajectory)
    body = np.abs(phantom.images).mean(axis=0) > 0.2
    alignment = np.abs((maps * phantom.maps.conj()).sum(axis=0))[body]
    assert alignment.mean() > 0.98
    assert guess_shape(radial_trajectory(30, 64, 6, 3)) == (64, 64)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kspace": np.zeros((4, 4))}, "3 or 4 axes"),
        ({"kspace": np.zeros((2, 4, 4))}, "2 frames are too few"),
        ({"mask": np.ones((2, 2, 2), bool)}, "shape|broadcast"),
        ({"device": "tpu"}, "'cuda' .* or 'auto'"),
        ({"maps": np.ones((1, 4, 4))}, "maps must be 1 coils"),
        ({"trajectory": np.zeros((3, 5, 2))}, "trajectory must have shape"),
        ({"trajectory": np.full((5, 8, 2), 3.0)}, "cycles per pixel"),
        ({"maps": np.full((1, 8, 8), np.nan)}, "maps hold NaN"),
        ({"maps": np.zeros((1, 8, 8))}, "nothing but zeros"),
        ({"navigator": np.zeros((7, 2))}, "must begin with 5 frames"),
        ({"navigator": np.full((5, 2), np.nan)}, "navigator holds NaN"),
        ({"trajectory": np.zeros((5, 8, 2)), "mask": np.ones((5, 8, 8), bool)}, "leave out the mask"),
        ({"trajectory": np.zeros((5, 8, 2)), "navigator": np.ones((7, 3))}, "must begin with 5 frames"),
        ({"trajectory": np.zeros((5, 8, 2)), "kspace": np.full((5, 8, 8), np.nan)}, "NaN"),
        ({"trajectory": np.full((5, 8, 2), np.nan)}, "cycles per pixel"),
        ({"trajectory": np.zeros((1, 8, 2)), "kspace": np.ones((1, 2, 8))}, "1 frames are too few"),
        ({"mask": np.zeros((5, 8, 8), bool)}, "frame 0 has no samples"),
        ({"mask": np.arange(5)[:, None, None] != np.full((8, 8), 3)}, "frame 3 has no samples"),
        ({"kspace": np.full((5, 8, 8), np.nan)}, "no samples"),
        ({"kspace": np.zeros((5, 8, 8)), "mask": np.ones((5, 8, 8), bool)}, "nothing but zeros"),
        ({"kspace": np.zeros((5, 2, 8)), "trajectory": np.zeros((5, 8, 2))}, "nothing but zeros"),
    ],
)
def test_bad_input_is_named(change, message):
    given = {"kspace": np.ones((5, 8, 8), complex)} | change
    with pytest.raises(ValueError, match=message):
        reconstruct(**given)


def test_samples_that_are_not_numbers_are_not_samples(scan):
    """NaN under the mask is as good as outside it; NaN outside says where nothing was sampled."""
    kspace, mask = scan
    spoilt, fewer = kspace.copy(), mask.copy()
    spoilt[3, 20, 20], fewer[3, 20, 20] = np.nan, False
    found = reconstruct(spoilt, mask, random_state=0).images
    np.testing.assert_array_equal(found, reconstruct(kspace, fewer, random_state=0).images)
    unsampled = np.where(fewer, kspace, np.nan)
    np.testing.assert_array_equal(found, reconstruct(unsampled, random_state=0).images)


@pytest.mark.parametrize("shape", [(21, 34), (33, 16), (9, 9)])
def test_odd_and_oblong_images(phantom, shape):
    images = phantom.images[:20, -shape[0] :, : shape[1]]
    mask = radial_mask(20, shape, 5, 4)
    kspace = sample_grid(images, mask)
    assert ser(images, reconstruct(kspace, mask, random_state=0).images) > ser(images, invert(kspace)) + 6
    # k-space of real numbers is k-space, too: of images that are their own mirror image, conjugate.
    assert np.isfinite(reconstruct(kspace.real, mask, random_state=0).images).all()


@pytest.mark.parametrize("radial", [False, True])
def test_maps_may_be_zero_outside_the_body(radial):
    phantom = make_phantom(24, 24, n_coils=3, frame_time=0.08)
    y, x = np.mgrid[:24, :24] - 12
    body = np.hypot(y, x) < 9
    images, maps = phantom.images * body, phantom.maps * body
    if radial:
        trajectory = radial_trajectory(24, 24, 5, 3)
        given = {"kspace": FourierSums(trajectory, maps).forward(images), "trajectory": trajectory}
    else:
        mask = radial_mask(24, (24, 24), 4, 3)
        given = {"kspace": gridded(images, mask, maps), "mask": mask}
    found = reconstruct(**given, maps=maps, random_state=0).images
    assert not found[:, ~body].any()
    assert ser(images, found) > 25


def test_maps_that_do_not_fit_are_noticed():
    phantom = make_phantom(24, 24, n_coils=3, frame_time=0.08)
    mask = radial_mask(24, (24, 24), 4, 3)
    kspace = gridded(phantom.images, mask, phantom.maps)
    wrong = phantom.maps * (np.abs(np.arange(24) - 12) < 5)
    with pytest.warns(UserWarning, match="check that the maps, the trajectory and the navigator fit"):
        reconstruct(kspace, mask, maps=wrong, random_state=0)


def test_fewer_coils_hold_nearly_everything():
    phantom = make_phantom(6, 24, n_coils=8)
    mask = radial_mask(6, (24, 24))
    kspace = gridded(phantom.images, mask, phantom.maps)
    compressed, weights = compress_coils(kspace, 5)
    np.testing.assert_allclose(weights @ weights.conj().T, np.eye(5), atol=1e-5)
    fewer = gridded(phantom.images, mask, np.tensordot(weights, phantom.maps, 1))
    np.testing.assert_allclose(compressed, fewer, atol=1e-4)
    # Eckart and Young: what is lost is the energy in the smaller singular values.
    values = np.linalg.svd(np.moveaxis(kspace, 1, 0).reshape(8, -1), compute_uv=False)
    assert np.linalg.norm(compressed) ** 2 == pytest.approx(np.sum(values[:5] ** 2), rel=1e-4)
