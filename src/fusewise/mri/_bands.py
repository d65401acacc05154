"""The first step: one kernel for each band of spatial frequencies, from data common to all frames.

Samples at the same locations in all or most frames (navigator lines, or the centre of k-space) give the distances
between frames without any reconstruction. Fine detail decorrelates under smaller motion than coarse shape does, so
distances are computed for each band. Under one kernel every k-space location is a small problem of its own, solved
exactly, and its leave-one-out errors choose scale and noise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from fusewise.kernels import Placement, beside, library
from fusewise.mri._columns import ColumnInverse, Columns, left_out
from fusewise.mri._covariances import median_distance, squared_distances
from fusewise.mri._held_out import Setting, best, decibels
from fusewise.mri._tensors import Array, energy, gram, ifft2, real_times, single
from fusewise.pairs import h1_weight

#: Outer radii of the bands, relative to half the width of k-space; the last band reaches to the corners.
BORDERS = (0.09, 0.29, 0.49, 0.69, 0.90)

#: How far outside a band its samples may lie, in the same unit.
OVERLAP = 0.045

#: A band with fewer samples than this uses the distances of the next band inwards.
FEWEST_SAMPLES = 16

#: Frames are compared by locations sampled in this share of them: few gaps exceed one frame, and are interpolated.
COMMON_SHARE = 0.5

#: If fewer locations than this are sampled that often, this many of the most frequently sampled ones are used.
FEWEST_LOCATIONS = 64

#: Prior variance of a constant in time, in units of that of the motion: the error of the subtracted mean.
CONSTANT_VARIANCE = 1.0

#: Locations on which a setting is evaluated: enough for a hundredth of a decibel, few enough for a second.
N_LOCATIONS = 1000

#: Candidates for sigma² and lam, in units of the median squared distance and of the variance of the motion.
SCALES = (0.25, 0.5, 1.0)
NOISES = (1e-3, 1e-2, 1e-1, 1.0)


def common_locations(mask: Array) -> Array:
    """Locations (ny x nx) sampled in at least half of the frames; if too few, the most frequently sampled ones."""
    seen = np.asarray(mask.mean(axis=0))
    wanted = np.sort(seen.ravel())[-min(FEWEST_LOCATIONS, seen.size)]
    return np.asarray(seen >= max(min(COMMON_SHARE, wanted), 1 / len(mask)))


def filled_in_time(values: Array, seen: Array) -> Array:
    """Interpolate samples (T x ... x L) where not `seen` (T x L) linearly in time, beyond the ends by these."""
    gaps = np.flatnonzero(seen.any(axis=0) & ~seen.all(axis=0))
    if not len(gaps):
        return values
    here, times = seen[:, gaps], np.arange(len(seen))[:, None]
    before = np.maximum.accumulate(np.where(here, times, -1))
    after = np.minimum.accumulate(np.where(here, times, len(seen))[::-1])[::-1]
    when, where = np.nonzero(~here)
    low, high = before[when, where], after[when, where]
    low, high = np.where(low < 0, high, low), np.where(high == len(seen), low, high)
    shares = ((when - low) / np.maximum(high - low, 1)).reshape(-1, *[1] * (values.ndim - 2))
    at = gaps[where]
    filled = values.copy()
    filled[when, ..., at] = (1 - shares) * values[low, ..., at] + shares * values[high, ..., at]
    return filled


@dataclass(frozen=True, eq=False)
class Bands:
    """Squared distances of the frames in bands of spatial frequency."""

    distances: Array  # bands x T x T
    medians: Array  # the median distance of different frames in each band (on the host)
    upto: tuple[float, ...]  # outer radius of each band but the last, relative to half the width of k-space

    @classmethod
    def of(cls, values: Array, radii: Array) -> Bands:
        """Compute from samples at the same locations in every frame, T x L, and their radii (on the host)."""
        distances: list[Array] = []
        upto: list[float] = []
        for low, high in zip((0.0, *BORDERS), (*BORDERS, np.inf), strict=True):
            near = (radii >= low - OVERLAP) & (radii < high + OVERLAP)
            if np.count_nonzero(near) >= FEWEST_SAMPLES or not distances:
                used = np.flatnonzero(near if near.any() else np.ones_like(near))
                distances.append(squared_distances(gram(values[:, beside(used, values)])))
                upto.append(high)
            else:
                upto[-1] = high
        stacked: Array = library(values).stack(distances)
        return cls(stacked, median_distance(stacked), tuple(upto[:-1]))

    @classmethod
    def of_signal(cls, signal: Array, place: Placement) -> Bands:
        """Compute from any signal with one measurement per frame, T x ...: one band for all."""
        return cls.of(place(signal.reshape(len(signal), -1)), np.zeros(signal[0].size))

    @classmethod
    def of_coils(cls, coils: Iterable[Array], seen: Array, radii: Array, place: Placement) -> Bands:
        """Compute from samples of each coil at the same L locations, T x L on the host, missing where not `seen`."""
        filled = filled_in_time(np.stack(list(coils), axis=1), seen)
        return cls.of(place(filled.reshape(len(filled), -1)), np.tile(radii, filled.shape[1]))

    def which(self, radii: Array) -> Array:
        return np.digitize(radii, self.upto)

    def kernels(self, scale: float) -> Array:
        """H1 weights of the frames in each band, plus a constant: bands x T x T, in double precision."""
        variances = beside(scale * self.medians[:, None, None], self.distances)
        weights: Array = h1_weight(self.distances, variances)
        return weights + CONSTANT_VARIANCE

    def columns(self, mask: Array, radii: Array, like: Array) -> Columns:
        """Frames of a mask T x ny x nx as rows: locations are columns, of the kind of their band."""
        return Columns.of(mask.reshape(len(mask), -1), like, self.which(radii.ravel()))


def about_mean(kspace: Array, mask: Array) -> tuple[Array, Array]:
    """Mean over the frames where the mask (T x P, on the host) is True, and the deviations from it, else zero."""
    shares = beside((1 / np.maximum(mask.sum(axis=0), 1)).astype(np.float32), kspace)
    seen = beside(mask, kspace)
    values = kspace.reshape(mask.shape) * seen
    mean = values.sum(axis=0) * shares
    return mean, (values - mean) * seen


def choose_bands(bands: Bands, values: Array, mask: Array, radii: Array, rng: np.random.Generator) -> Setting:
    """Choose scale and noise by predicting samples (T x P) from the others of their location, at some locations."""
    counts = mask.sum(axis=0)
    candidates = np.flatnonzero((counts > 1) & (counts < len(mask)))
    if not len(candidates):
        return Setting(SCALES[1], NOISES[1])
    some = rng.choice(candidates, min(N_LOCATIONS, len(candidates)), replace=False)
    columns = Columns.of(mask[:, some], values, bands.which(radii[some]))
    judged = columns.pack(values[:, beside(some, values)])
    whole = energy(judged)
    tried = []
    for scale in SCALES:
        errors = left_out(bands.kernels(scale), columns, NOISES, judged)
        tried += [(scale, noise, decibels(whole, error)) for noise, error in zip(NOISES, errors, strict=True)]
    return best(tried)


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

    `coils` (T x ny x nx), `mask` and the radii `where` are in the plain layout. The first coil chooses for all.
    """
    seen, radius = mask.reshape(len(mask), -1), where.ravel()
    coils = iter(coils)
    kspace = next(coils)
    mean, values = about_mean(kspace, seen)
    if library(bands.distances) is not library(values):
        bands = replace(bands, distances=beside(bands.distances, values))
    choice = choose_bands(bands, values, seen, radius, rng)
    columns = bands.columns(mask, where, values) if columns is None else columns
    kernels = bands.kernels(choice.scale)
    inverse = ColumnInverse.under(kernels, columns, choice.noise)
    members = [beside(np.flatnonzero(bands.which(radius) == band), values) for band in range(len(kernels))]

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
        images += sensitivity.conj() * estimated(*about_mean(kspace, seen))
    return images / library(maps).square(abs(maps)).sum(axis=0).clip(1e-6), choice
