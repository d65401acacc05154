"""Samples off the grid, any number of coils, to images: the same kernels through an operator."""

from __future__ import annotations

import numpy as np

from fusewise.mri.fourier import Array
from fusewise.mri.gridded import CELLS, HELD_OUT, Frames, Teller
from fusewise.mri.interpolate import frames_of, solve_local
from fusewise.mri.kernels import LocalKernels, effective_rank
from fusewise.mri.navigator import FEWEST, Bands
from fusewise.mri.operators import Nufft
from fusewise.mri.selecting import Choice, choose_local, decibels

#: The kernel of the whole image: scale, noise, and the prior variance of the mean frame in units of the motion's.
SCALE, NOISE, MEAN = 0.5, 1e-2, 100.0

SCALES, NOISES = (0.125, 0.25, 0.5), (1e-2, 1e-1)
START_STEPS, TRIAL_STEPS, FINAL_STEPS = 25, 8, 20


def reconstruct_radial(
    kspace: Array, trajectory: Array, maps: Array, navigator: Array | None, rng: np.random.Generator, tell: Teller
) -> Frames:
    """Images from samples T x coils x samples at `trajectory` (T x samples x 2, cycles per pixel)."""
    operator = Nufft(trajectory, maps)
    samples = kspace.astype(np.complex64)
    common = common_samples(trajectory)
    if navigator is None:
        if np.count_nonzero(common) < FEWEST:
            raise ValueError(
                f"only {np.count_nonzero(common)} samples lie at the same place in all frames: too few to compare the "
                "frames by. Give navigator (frames x anything measured alike in every frame)"
            )
        signal = np.ascontiguousarray(np.moveaxis(samples[:, :, common], 2, 1)).reshape(len(samples), -1)
        where = np.repeat(2 * np.hypot(*trajectory[0, common].T), samples.shape[1])
    else:
        signal = navigator.reshape(len(navigator), -1)
        where = np.zeros(signal.shape[1])
    distances = np.mean([d / d.mean() for d in Bands.of(signal, where).distances if d.mean() > 0], axis=0)
    held = (rng.random(samples.shape[::2], dtype=np.float32) < HELD_OUT)[:, None, :] & ~common
    trained = np.broadcast_to(~held, samples.shape)
    density = density_compensation(trajectory, maps.shape[1:])[:, None, :]

    def precondition(residual: Array) -> Array:
        return residual * density

    ny, nx = maps.shape[1:]
    whole = np.array([0, ny]), np.array([0, nx])
    first = LocalKernels(whole, distances[None].astype(np.float32), np.ones(1), SCALE, constant=MEAN)
    dual, history = solve_local(operator, samples, first, NOISE, precondition, steps=START_STEPS, seen=trained)
    start = frames_of(operator, dual, first)
    tell(f"one kernel for all places: residual {history[-1]:.1e} after {len(history) - 1} steps")

    mean = start.mean(axis=0)
    kernels = LocalKernels.of(start, SCALES[0], max(ny, nx) / CELLS, max(ny, nx) / CELLS)
    unit = kernels.variance
    deviations = samples - operator.forward(np.broadcast_to(mean, start.shape))
    where_held = np.broadcast_to(held, samples.shape)
    duals: dict[tuple[float, float], Array] = {}

    def predict(scale: float, noise: float) -> float:
        here = kernels.at(scale)
        dual, _ = solve_local(operator, deviations, here, noise * unit, precondition, steps=TRIAL_STEPS, seen=trained)
        duals[scale, noise] = dual
        errors = (operator.forward(frames_of(operator, dual, here)) - deviations)[where_held]
        energy = float(np.square(np.abs(deviations[where_held])).sum())
        score = decibels(energy, float(np.square(np.abs(errors)).sum()))
        tell(f"places: scale {scale}, noise {noise}: held-out samples {score:.2f} dB")
        return score

    local = choose_local(predict, SCALES, NOISES)
    chosen, lam = kernels.at(local.scale), local.noise * unit
    last = duals[local.scale, local.noise]
    dual, history = solve_local(operator, deviations, chosen, lam, precondition, steps=FINAL_STEPS, start=last)
    images = mean + frames_of(operator, dual, chosen)
    tell(f"done: residual {history[-1]:.1e} after {len(history) - 1} steps")
    sigma = float(np.sqrt(local.scale * np.median([np.median(d) for d in kernels.distances])))
    rank = effective_rank(chosen.mean_kernel(), lam)
    return Frames(images, lam, sigma, rank, history, Choice(SCALE, NOISE, float("nan")), local)


def common_samples(trajectory: Array) -> Array:
    """Samples that lie at the same place in every frame."""
    return np.asarray(np.isclose(trajectory, trajectory[:1], atol=1e-6).all(axis=(0, 2)))


def density_compensation(trajectory: Array, shape: tuple[int, ...]) -> Array:
    """|k| (half a sample at the centre), mean 1: a radial line is dense in the middle."""
    radius = np.maximum(np.hypot(trajectory[..., 0], trajectory[..., 1]), 0.5 / max(shape))
    return np.asarray(radius / radius.mean(), dtype=np.float32)
