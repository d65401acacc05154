"""Gridded, single-coil k-space to images: kernels by band, then kernels by place, every choice by held-out samples."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import fft

from fusewise.mri.fourier import AXES, Array, plain_invert, plain_transform, radii, to_plain
from fusewise.mri.interpolate import Gridded, LocationInverse, frames_of, group_locations, solve_local
from fusewise.mri.kernels import LocalKernels, effective_rank
from fusewise.mri.navigator import Bands, common_locations, signals
from fusewise.mri.selecting import Choice, choose_bands, choose_local, decibels, hold_out

#: Part of the samples held out to choose the local kernels.
HELD_OUT = 0.05

#: Cells per width of the image: about a ventricle each.
CELLS = 11

SCALES = (0.125, 0.25, 0.5, 1.0)
NOISES = (1e-2, 5e-2, 2.5e-1)

#: Conjugate gradient steps while choosing and at the end.
TRIAL_STEPS, FINAL_STEPS = 6, 14


@dataclass(frozen=True, eq=False)
class Frames:
    """Images and the settings that made them; see ``fusewise.mri.Reconstruction``."""

    images: Array
    lam: float
    sigma: float
    rank: int
    history: tuple[float, ...]
    bands: Choice
    local: Choice


class Teller:
    """Progress on stderr, with seconds, if asked for."""

    def __init__(self, verbose: int):
        self.verbose = verbose
        self.begun = time.perf_counter()

    def __call__(self, message: str) -> None:
        """Say it."""
        if self.verbose:
            print(f"[{time.perf_counter() - self.begun:6.1f} s] {message}", file=sys.stderr)


def reconstruct_gridded(
    kspace: Array, mask: Array, navigator: Array | None, rng: np.random.Generator, tell: Teller
) -> Frames:
    """Images from k-space on a grid (T x ny x nx, centre in the middle)."""
    shape = kspace.shape
    half = min(shape[1:]) / 2
    where = radii((shape[1], shape[2])) / half
    common = common_locations(mask) if navigator is None or navigator.dtype != bool else navigator
    if navigator is None or navigator.dtype == bool:
        bands = Bands.of(signals(kspace, mask, common), where[common])
    else:
        bands = Bands.of(navigator.reshape(len(navigator), -1), np.zeros(navigator[0].size))
    tell(
        f"{mask.mean():.1%} sampled; {np.count_nonzero(common)} locations seen in common; {len(bands.distances)} bands"
    )

    values = to_plain(np.where(mask, kspace, 0).astype(np.complex64))
    mask, where, common = (fft.ifftshift(array, axes=AXES) for array in (mask, where, common))
    held = hold_out(mask, common, HELD_OUT, rng)
    trained = mask & ~held
    start, choice = start_from_bands(bands, values, trained, where, rng)
    tell(f"bands: scale {choice.scale}, noise {choice.noise}: left out {choice.score:.2f} dB")

    mean = start.mean(axis=0)
    side = max(shape[1:]) / CELLS
    kernels = LocalKernels.of(plain_invert(start), SCALES[1], side, side)
    unit = kernels.variance
    sampling = Gridded(mask)

    deviations = (values - mean) * mask
    tell("kernels by place")

    duals: dict[tuple[float, float], Array] = {}

    def precondition_with(here: LocalKernels, seen: Array, noise: float) -> Callable[[Array], Array]:
        groups = group_locations(seen.reshape(shape[0], -1))
        inverse = LocationInverse.under(here.mean_kernel(), groups, noise * unit)
        return lambda samples: inverse.apply(samples.reshape(shape[0], -1)).reshape(shape)

    def predict(scale: float, noise: float) -> float:
        here = kernels.at(scale)
        precondition = precondition_with(here, trained, noise)
        dual, _ = solve_local(sampling, deviations, here, noise * unit, precondition, steps=TRIAL_STEPS, seen=trained)

        errors = (plain_transform(frames_of(sampling, dual, here)) - deviations)[held]
        score = decibels(float(np.square(np.abs(deviations[held])).sum()), float(np.square(np.abs(errors)).sum()))
        duals[scale, noise] = dual
        tell(f"places: scale {scale}, noise {noise}: held-out samples {score:.2f} dB")
        return score

    local = choose_local(predict, SCALES, NOISES)
    chosen = kernels.at(local.scale)
    lam = local.noise * unit
    precondition = precondition_with(chosen, mask, local.noise)
    dual, history = solve_local(
        sampling, deviations, chosen, lam, precondition, steps=FINAL_STEPS, start=duals[local.scale, local.noise]
    )
    images = plain_invert(np.broadcast_to(mean, shape[1:])) + frames_of(sampling, dual, chosen)
    tell(f"done: residual {history[-1]:.1e} after {len(history) - 1} steps")
    sigma = float(np.sqrt(local.scale * np.median([np.median(d) for d in kernels.distances])))
    rank = effective_rank(chosen.mean_kernel(), lam)
    return Frames(images, lam, sigma, rank, history, choice, local)


def start_from_bands(
    bands: Bands, values: Array, mask: Array, where: Array, rng: np.random.Generator
) -> tuple[Array, Choice]:
    """k-space of all frames (plain layout) under one kernel for each band of frequency."""
    shape = values.shape
    where, mask = where.ravel(), mask.reshape(shape[0], -1)
    flat = values.reshape(shape[0], -1) * mask
    mean = flat.sum(axis=0) / np.maximum(mask.sum(axis=0), 1)
    flat = (flat - mean) * mask
    choice = choose_bands(bands, flat, mask, where, rng)
    found = np.zeros_like(flat)
    band_of = bands.which(where)
    for band in range(len(bands.distances)):
        here = np.flatnonzero(band_of == band)
        inverse = LocationInverse.under(bands.kernel(band, choice.scale), group_locations(mask[:, here]), choice.noise)
        found[:, here] = inverse.solve(flat[:, here])
    return (mean + found).reshape(shape), choice
