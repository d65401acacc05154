"""Kernels from data common to all frames: navigator lines, or the frequently sampled centre of k-space.

Samples at the same locations in all or most frames give the distances between frames without any reconstruction. Fine
detail decorrelates under smaller motion than coarse shape does, so distances are computed for each band of spatial
frequencies.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from fusewise.kernels import Placement, beside, library
from fusewise.mri._covariances import h1_kernel, median_distance, squared_distances
from fusewise.mri._tensors import Array, gram

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


def common_locations(mask: Array) -> Array:
    """Locations (ny x nx) sampled in at least half of the frames; if too few, the most frequently sampled ones."""
    seen = np.asarray(mask.mean(axis=0))
    wanted = np.sort(seen.ravel())[-min(FEWEST_LOCATIONS, seen.size)]
    return np.asarray(seen >= max(min(COMMON_SHARE, wanted), 1 / len(mask)))


def filled_in_time(values: Array, seen: Array) -> Array:
    """Interpolate missing samples linearly in time, beyond the first and the last one by these.

    Parameters
    ----------
    values : T x ... x L, samples of the same L locations in all frames.
    seen : T x L, False where missing; a location that no frame has stays as it is.
    """
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
    """Squared distances of the frames in bands of spatial frequency.

    Attributes
    ----------
    distances : bands x T x T.
    medians : bands, the median distance of different frames (on the host).
    upto : outer radius of each band but the last, relative to half the width of k-space.
    """

    distances: Array
    medians: Array
    upto: tuple[float, ...]

    @classmethod
    def of(cls, values: Array, radii: Array) -> Bands:
        """Compute from samples at the same locations in every frame, T x L, and their radii (on the host)."""
        inner = (0.0, *BORDERS)
        outer = (*BORDERS, np.inf)
        distances: list[Array] = []
        upto: list[float] = []
        for low, high in zip(inner, outer, strict=True):
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
    def of_signal(cls, signal: Array) -> Bands:
        """Compute from any signal with one measurement per frame, T x ...: one band for all."""
        return cls.of(signal.reshape(len(signal), -1), np.zeros(signal[0].size))

    @classmethod
    def of_coils(cls, coils: Iterable[Array], seen: Array, radii: Array, place: Placement) -> Bands:
        """Compute from samples of each coil at the same locations (T x L), with missing ones interpolated in time.

        Parameters
        ----------
        coils, seen : T x L samples of each coil, and common booleans; on the host.
        radii : radii of the L locations.
        place : moves arrays to the device.
        """
        filled = filled_in_time(np.stack(list(coils), axis=1), seen)
        return cls.of(place(filled.reshape(len(filled), -1)), np.tile(radii, filled.shape[1]))

    def __len__(self) -> int:
        return len(self.distances)

    def beside(self, other: Array) -> Bands:
        """Move to the device of another array."""
        return (
            self
            if library(self.distances) is library(other)
            else replace(self, distances=beside(self.distances, other))
        )

    def which(self, radii: Array) -> Array:
        """The band of each location."""
        return np.digitize(radii, self.upto)

    def kernels(self, scale: float) -> Array:
        """H1 weights of the frames in each band, plus a constant: bands x T x T, in double precision."""
        variances = beside(scale * self.medians[:, None, None], self.distances)
        return h1_kernel(self.distances, variances) + CONSTANT_VARIANCE
