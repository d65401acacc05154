"""Gridded, single-coil k-space to images: kernels by band, then kernels by place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import fft

from fusewise.mri.fourier import AXES, Array, plain_invert, radii, to_plain
from fusewise.mri.interpolate import Gridded, LocationInverse, group_locations
from fusewise.mri.kernels import LocalKernels
from fusewise.mri.navigator import Bands, common_locations, signals
from fusewise.mri.places import CELLS, HELD_OUT, SCALES, Frames, Places, Teller
from fusewise.mri.selecting import Choice, choose_bands, hold_out, local_noises


def reconstruct_gridded(
    kspace: Array, mask: Array, navigator: Array | None, rng: np.random.Generator, tell: Teller
) -> Frames:
    """Images from k-space on a grid (T x ny x nx, centre in the middle)."""
    shape = kspace.shape
    where = radii((shape[1], shape[2])) / (min(shape[1:]) / 2)
    common = navigator if navigator is not None and navigator.dtype == bool else common_locations(mask)
    if navigator is None or navigator.dtype == bool:
        bands = Bands.of(signals(kspace, mask, common), where[common])
    else:
        bands = Bands.of(navigator.reshape(len(navigator), -1), np.zeros(navigator[0].size))
    tell(f"{mask.mean():.1%} sampled; {np.count_nonzero(common)} common locations; {len(bands.distances)} bands")

    values = to_plain(np.where(mask, kspace, 0).astype(np.complex64))
    mask, where, common = (fft.ifftshift(array, axes=AXES) for array in (mask, where, common))
    held = hold_out(mask, common, HELD_OUT, rng)
    start, choice = start_from_bands(bands, values, mask & ~held, where, rng)
    tell(f"bands: scale {choice.scale}, noise {choice.noise}: left out {choice.score:.2f} dB")

    mean = start.mean(axis=0)
    side = max(shape[1:]) / CELLS
    kernels = LocalKernels.of(plain_invert(start), SCALES[0], side, side)
    places = Places(Gridded(mask), (values - mean) * mask, held, kernels, by_location(mask), local_noises(choice))
    return places.solve(plain_invert(mean), choice, tell)


def by_location(mask: Array) -> Callable[[LocalKernels, Array, float], Callable[[Array], Array]]:
    """Precondition by the mean kernel, location by location: see ``places.Preconditioning``."""

    def prepare(kernels: LocalKernels, seen: Array, lam: float) -> Callable[[Array], Array]:
        groups = group_locations((mask & seen).reshape(len(mask), -1))
        inverse = LocationInverse.under(kernels.mean_kernel(), groups, lam)
        return lambda samples: inverse.apply(samples.reshape(len(mask), -1)).reshape(samples.shape)

    return prepare


def start_from_bands(
    bands: Bands, values: Array, mask: Array, where: Array, rng: np.random.Generator, choice: Choice | None = None
) -> tuple[Array, Choice]:
    """k-space of all frames (plain layout) under one kernel for each band, at a setting given or chosen."""
    shape = values.shape
    where, mask = where.ravel(), mask.reshape(shape[0], -1)
    flat = values.reshape(shape[0], -1) * mask
    mean = (flat.sum(axis=0) / np.maximum(mask.sum(axis=0), 1)).astype(flat.dtype)
    flat = (flat - mean) * mask
    choice = choice or choose_bands(bands, flat, mask, where, rng)
    found = np.zeros_like(flat)
    band_of = bands.which(where)
    for band in range(len(bands.distances)):
        here = np.flatnonzero(band_of == band)
        inverse = LocationInverse.under(bands.kernel(band, choice.scale), group_locations(mask[:, here]), choice.noise)
        found[:, here] = inverse.solve(flat[:, here])
    return (mean + found).reshape(shape), choice
