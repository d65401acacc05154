"""A'A of samples off the grid by FFTs alone: against the sums, against dense matrices, and its symmetries."""

import numpy as np
import pytest

from fusewise.kernels import to_host
from fusewise.mri import _tensors as tensors
from fusewise.mri._normal_equations import (
    Convolution,
    off_grid_equations,
    on_grid_equations,
)
from fusewise.mri._reconstruct import MEAN_RIDGE, mean_image
from fusewise.mri._sampling import FourierSums, Gridded

T, NY, NX, COILS = 3, 10, 7, 4


def random_complex(shape, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def scan(coils=COILS, seed=0):
    """A trajectory that has nothing regular about it, weights some of which are nil, samples, maps."""
    rng = np.random.default_rng(seed)
    trajectory = rng.uniform(-0.5, 0.5, (T, 23, 2))
    weights = rng.random((T, 23)) * (rng.random((T, 23)) < 0.8)
    operator = FourierSums(trajectory, random_complex((coils, NY, NX), 1))
    return operator, random_complex((T, coils, 23), 2), weights


def equations_of(operator, samples, weights, place):
    there = FourierSums(place(operator.trajectory), place(operator.maps))
    return off_grid_equations(there, place(samples), weights)


def dense(operator, frame):
    """The matrix of A_i, (coils * samples) x pixels, by its defining sum."""
    y, x = np.mgrid[:NY, :NX]
    places = np.stack([y - NY // 2, x - NX // 2], axis=-1).reshape(-1, 2)
    waves = np.exp(-2j * np.pi * operator.trajectory[frame] @ places.T) / np.sqrt(NY * NX)
    return np.concatenate([waves * coil.ravel() for coil in operator.maps])


def test_normal_and_target_are_those_of_the_dense_matrix(place):
    operator, samples, weights = scan()
    equations = equations_of(operator, samples, weights, place)
    u = random_complex(operator.shape, 3)
    normal, target = to_host(equations.normal(place(u))), to_host(equations.target)
    for t in range(T):
        matrix, weight = dense(operator, t), np.tile(weights[t], COILS)
        expected = matrix.conj().T @ (weight * (matrix @ u[t].ravel()))
        np.testing.assert_allclose(normal[t].ravel(), expected, atol=1e-8)
        np.testing.assert_allclose(target[t].ravel(), matrix.conj().T @ (weight * samples[t].ravel()), atol=1e-8)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.6])
def test_few_samples_with_a_weight(place, share):
    """A frame without any, and others with different numbers of them."""
    operator, samples, weights = scan()
    weights = weights * (np.random.default_rng(5).random(weights.shape) < share)
    weights[1] = 0
    equations, u = equations_of(operator, samples, weights, place), random_complex(operator.shape, 3)
    expected = operator.adjoint(operator.forward(u) * weights[:, None])
    np.testing.assert_allclose(to_host(equations.normal(place(u))), expected, atol=1e-8)
    np.testing.assert_allclose(to_host(equations.target), operator.adjoint(samples * weights[:, None]), atol=1e-8)
    assert equations.energy == pytest.approx(np.sum(weights[:, None] * np.abs(samples) ** 2))


@pytest.mark.parametrize("coils", [None, COILS])
def test_frames_in_batches(place, coils, monkeypatch):
    """In batches of two frames, the last of them smaller, the result is that of all at once."""
    monkeypatch.setattr(tensors, "TORCH_ENTRIES", 2 * (coils or 1) * 20 * 14)
    monkeypatch.setattr(tensors, "CPU_ENTRIES", 2 * (coils or 1) * 20 * 14)
    spectra, u = np.random.default_rng(6).random((T, 20, 14)), random_complex((T, NY, NX), 7)
    maps = None if coils is None else random_complex((coils, NY, NX), 8)
    found = Convolution(place(spectra), None if maps is None else place(maps))(place(u))
    seen = np.zeros((T, coils or 1, 20, 14), complex)
    seen[..., :NY, :NX] = u[:, None] * (1 if maps is None else maps)
    filtered = np.fft.ifft2(spectra[:, None] * np.fft.fft2(seen))[..., :NY, :NX]
    expected = (filtered * (1 if maps is None else maps.conj())).sum(axis=1)
    np.testing.assert_allclose(to_host(found), expected, atol=1e-12)


def test_parts_add_up(place):
    """The samples held out and the others are all samples."""
    operator, samples, weights = scan()
    held = np.random.default_rng(3).random(weights.shape) < 0.3
    u = place(random_complex(operator.shape, 4))
    parts = [equations_of(operator, samples, weights * part, place) for part in (held, ~held)]
    whole, joined = equations_of(operator, samples, weights, place), parts[0] + parts[1]
    np.testing.assert_allclose(to_host(joined.normal(u)), to_host(whole.normal(u)), atol=1e-8)
    assert joined.misfit(u) == pytest.approx(whole.misfit(u), rel=1e-8)
    assert joined.misfit(u) == pytest.approx(parts[0].misfit(u) + parts[1].misfit(u), rel=1e-8)


def test_on_the_grid_the_spectrum_is_the_mask(place):
    mask = np.random.default_rng(0).random((T, NY, NX)) < 0.4
    maps, u = random_complex((COILS, NY, NX), 1), random_complex((T, NY, NX), 8)
    samples = np.fft.fft2(random_complex((T, COILS, NY, NX), 9), norm="ortho")
    sampling = Gridded(mask, maps)
    equations = on_grid_equations(Gridded(place(mask), place(maps)), place(samples))
    expected = sampling.adjoint(sampling.forward(u))
    np.testing.assert_allclose(to_host(equations.normal(place(u))), expected, atol=1e-10)
    missed = np.abs((sampling.forward(u) - samples) * mask[:, None]) ** 2
    assert equations.misfit(place(u)) == pytest.approx(missed.sum(), rel=1e-8)
    weights = np.random.default_rng(1).random((NY, NX))
    weighted = on_grid_equations(Gridded(place(mask), place(maps)), place(samples), place(weights))
    assert weighted.misfit(place(u)) == pytest.approx((weights * missed).sum(), rel=1e-8)


def test_deviations_from_an_image(place):
    """||A (m + v) - b||² in v: the same value, and the target A' (b - A m)."""
    operator, samples, weights = scan()
    mean, v = random_complex((NY, NX), 3), random_complex(operator.shape, 4)
    about = equations_of(operator, samples, weights, place).about(place(mean))
    errors = operator.forward(mean + v) - samples
    assert about.misfit(place(v)) == pytest.approx(np.sum(weights[:, None] * np.abs(errors) ** 2), rel=1e-8)
    left = samples - operator.forward(np.broadcast_to(mean, operator.shape))
    np.testing.assert_allclose(to_host(about.target), operator.adjoint(left * weights[:, None]), atol=1e-8)


def test_one_image_for_all_frames(place):
    """The mean of the frames' misfits at a common image, and its minimum, against the dense matrices."""
    operator, samples, weights = scan()
    equations = equations_of(operator, samples, weights, place)
    image = random_complex((NY, NX), 3)
    mean = equations.mean()
    everywhere = place(np.repeat(image[None], T, axis=0))
    assert mean.misfit(place(image[None])) == pytest.approx(equations.misfit(everywhere) / T, rel=1e-8)

    gram, target = MEAN_RIDGE * np.eye(NY * NX), 0
    for t in range(T):
        matrix, weight = dense(operator, t), np.tile(weights[t], COILS)
        gram = gram + matrix.conj().T @ (weight[:, None] * matrix) / T
        target = target + matrix.conj().T @ (weight * samples[t].ravel()) / T
    expected = np.linalg.solve(gram, target)
    found = to_host(mean_image(equations)).ravel()
    # Thirty steps, or a residual of a thousandth.
    assert np.linalg.norm(gram @ found - target) < 2e-3 * np.linalg.norm(target)
    assert np.linalg.norm(found - expected) < 0.05 * np.linalg.norm(expected)


@pytest.mark.parametrize("shape", [(12, 9), (6, 5)])
def test_equations_on_another_grid(place, shape):
    """On a finer one frames have the misfit they had; on a coarser one that of frames without higher frequencies."""
    rng = np.random.default_rng(0)
    mask = rng.random((T, NY, NX)) < 0.4
    equations = on_grid_equations(Gridded(place(mask)), place(random_complex((T, 1, NY, NX), 1)))
    there = equations.resampled(shape)
    smaller = tuple(map(min, shape, (NY, NX)))
    coarse = place(random_complex((T, *smaller), 2))
    expected = equations.misfit(tensors.resampled(coarse, (NY, NX)))
    assert there.misfit(tensors.resampled(coarse, shape)) == pytest.approx(expected)


def test_equations_off_the_grid_at_half_the_resolution(place):
    """Those of a scan on the coarse grid, but near the borders, which waves of any frequency do not meet smoothly."""
    rng = np.random.default_rng(0)
    y, x = (np.arange(n) - n // 2 for n in (48, 64))
    trajectory, weights = rng.uniform(-0.2, 0.2, (T, 40, 2)), rng.random((T, 40))
    blob = np.exp(-np.square(y[:, None] / 9) - np.square(x / 10)) * np.ones((T, 1, 1)) + 0j
    fine = FourierSums(place(trajectory), place(np.ones((1, 48, 64), complex)))
    coarse = FourierSums(place(2 * trajectory), place(np.ones((1, 24, 32), complex)))
    halved = off_grid_equations(fine, fine.forward(place(blob)), weights).resampled((24, 32))
    small = tensors.resampled(place(blob), (24, 32))
    expected = off_grid_equations(coarse, coarse.forward(small), weights)
    for found, wanted in ((halved.normal(small), expected.normal(small)), (halved.target, expected.target)):
        inside, there = (to_host(images)[:, 5:-5, 5:-5] for images in (found, wanted))
        assert abs(inside - there).max() < 0.05 * abs(there).max()
