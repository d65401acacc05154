"""Reconstruction from k-space on a grid: kernels by frequency band, then local kernels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy import fft

from fusewise.kernels import Placement, beside, library
from fusewise.mri._columns import ColumnInverse, Columns
from fusewise.mri._fourier import AXES, radii, to_plain
from fusewise.mri._held_out import choose_bands, frames_per_sample, hold_out
from fusewise.mri._interpolation import ByImage, BySample, Solver
from fusewise.mri._local import Places
from fusewise.mri._navigator import Bands, common_locations
from fusewise.mri._normal_equations import on_grid_equations
from fusewise.mri._operators import Gridded
from fusewise.mri._result import Reconstruction, Setting
from fusewise.mri._tensors import Array, ifft2, real_times, single
from fusewise.progress import Progress
from fusewise.support import counted


def reconstruct_gridded(
    kspace: Array,
    mask: Array,
    maps: Array | None,
    navigator: Array | None,
    rng: np.random.Generator,
    place: Placement,
    tell: Progress,
) -> Reconstruction:
    """Reconstruct images from k-space on a grid.

    Parameters
    ----------
    kspace : T x coils x ny x nx, complex64, the centre in the middle, zero where not sampled.
    mask : T x ny x nx.
    maps : coils x ny x nx; None: a single coil of uniform sensitivity.
    navigator, rng : see ``fusewise.mri.reconstruct``.
    place, tell : moves arrays to the device, and reports progress.
    """
    shape = mask.shape[1], mask.shape[2]
    where = radii(shape)
    held = hold_out(mask, np.asarray(mask.all(axis=0)), rng)
    if navigator is None or navigator.dtype == bool:
        common = common_locations(mask) if navigator is None else navigator
        coils = (coil[:, common] for coil in kspace.swapaxes(0, 1))
        bands = Bands.of_coils(coils, (mask & ~held)[:, common], where[common], place)
    else:
        bands = Bands.of_signal(place(navigator))
    tell(f"{mask.mean():.1%} sampled; frames compared in {counted(len(bands), 'band')}")

    mask, where, held = (fft.ifftshift(array, axes=AXES) for array in (mask, where, held))
    samples = to_plain(place(kspace))
    sampling = Gridded(place(mask), None if maps is None else place(maps))
    fitted = by_location(mask & ~held, where, bands, samples)
    start, choice = start_from_bands(bands, samples.swapaxes(0, 1), mask & ~held, where, rng, sampling.maps, fitted)
    tell(f"bands: scale {choice.scale}, noise {choice.noise}: leave-one-out {choice.score:.2f} dB")

    mean = start.mean(axis=0)
    deviations = samples - sampling.forward(mean[None])
    using, sparing = replace(sampling, mask=sampling.mask & ~place(held)), replace(sampling, mask=place(held))
    known, unseen = (on_grid_equations(part, deviations) for part in (using, sparing))
    judge = on_grid_equations(sparing, deviations, place(frames_per_sample(mask)))
    way: Solver = ByImage(known, unseen, float(mask.mean()))
    if maps is None:
        way = BySample(deviations[:, 0], fitted, by_location(mask, where, bands, samples))
    return Places(way, judge, start, where).solve(mean, choice, tell)


def by_location(mask: Array, where: Array, bands: Bands, like: Array) -> Columns:
    """Frames of a mask T x ny x nx as rows with missing entries: a location is a column, of the kind of its band."""
    return Columns.of(mask.reshape(len(mask), -1), like, bands.which(where.ravel()))


def start_from_bands(
    bands: Bands,
    coils: Iterable[Array],
    mask: Array,
    where: Array,
    rng: np.random.Generator,
    maps: Array | None,
    columns: Columns | None = None,
) -> tuple[Array, Setting]:
    """Images under one kernel for each band: k-space of each coil separately, then combined by the maps.

    Parameters
    ----------
    bands : distances of the frames.
    coils : T x ny x nx k-space of each coil (plain layout).
    mask, where : the samples to use (T x ny x nx), and the radius of each location (1 at the edge).
    rng : samples the locations from which scale and noise are chosen, for all coils by the first.
    maps : coils x ny x nx; None: one coil of uniform sensitivity.
    columns : ``by_location`` of the mask, if already computed.
    """
    seen, radius = mask.reshape(len(mask), -1), where.ravel()
    coils = iter(coils)
    kspace = next(coils)
    about_mean = Centring.of(seen, kspace)
    mean, values = about_mean(kspace)
    bands = bands.beside(values)
    choice = choose_bands(bands, values, seen, radius, rng)
    columns = by_location(mask, where, bands, values) if columns is None else columns
    kernels = bands.kernels(choice.scale)
    inverse = ColumnInverse.under(kernels, columns, choice.noise)
    members = [beside(np.flatnonzero(bands.which(radius) == band), values) for band in range(len(bands))]

    def estimated(mean: Array, values: Array) -> Array:
        found = columns.unpack(inverse(columns.pack(values)))
        for kernel, here in zip(single(kernels), members, strict=True):
            found[:, here] = real_times(kernel, found[:, here])
        found += mean
        return ifft2(found.reshape(mask.shape), overwrite=True)

    images = estimated(mean, values)
    if maps is None:
        return images, choice
    images = images * maps[0].conj()
    for kspace, sensitivity in zip(coils, maps[1:], strict=True):
        images += sensitivity.conj() * estimated(*about_mean(kspace))
    return images / library(maps).square(abs(maps)).sum(axis=0).clip(1e-6), choice


@dataclass(frozen=True, eq=False)
class Centring:
    """Means over the frames that sampled each location, for many coils.

    Attributes
    ----------
    seen : T x P, True where sampled.
    shares : P, one over the number of frames that sampled each location.
    """

    seen: Array
    shares: Array

    @classmethod
    def of(cls, mask: Array, like: Array) -> Centring:
        """Build from a mask T x P on the host, for the device of `like`."""
        shares = (1 / np.maximum(mask.sum(axis=0), 1)).astype(np.float32)
        return cls(beside(mask, like), beside(shares, like))

    def __call__(self, kspace: Array) -> tuple[Array, Array]:
        """Mean of each location (P), and the samples' deviations from it (T x P, zero if missing)."""
        values = kspace.reshape(self.seen.shape) * self.seen
        mean = values.sum(axis=0) * self.shares
        return mean, (values - mean) * self.seen
