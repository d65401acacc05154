"""What all frames saw alike, and the kernels it gives: navigator lines, or the often sampled centre of k-space.

Samples at the same places in all frames, or in most, tell how far apart two frames are without any reconstruction.
Fine detail decorrelates under smaller motion than coarse shape does, so distances are taken band by band of spatial
frequency.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from fusewise.kernels.arrays import beside, library
from fusewise.kernels.devices import Placement
from fusewise.mri.solving.covariances import h1_kernel, median_distance, squared_distances
from fusewise.mri.tensors import Array, gram

#: Outer radii of the bands, as parts of half the width of k-space; the last band reaches to the corners.
BORDERS = (0.09, 0.29, 0.49, 0.69, 0.90)

#: How far the samples that judge a band may lie outside it, likewise.
OVERLAP = 0.045

#: A band judged by fewer samples than this leaves its distances to the next band inwards.
FEWEST = 16

#: Locations seen in this part of the frames tell them apart: few gaps are longer than one frame, and filled in time.
OFTEN = 0.5

#: Where fewer locations are seen so often, as many as this, those seen most.
WANTED = 64

#: Prior variance of a constant in time, in units of that of the motion: what the subtracted mean may have missed.
CONSTANT = 1.0


def common_locations(mask: Array) -> Array:
    """Locations (ny x nx) seen in half of the frames or more; where these are too few, those seen most often."""
    seen = np.asarray(mask.mean(axis=0))
    wanted = np.sort(seen.ravel())[-min(WANTED, seen.size)]
    return np.asarray(seen >= max(min(OFTEN, wanted), 1 / len(mask)))


def filled_in_time(values: Array, seen: Array) -> Array:
    """Samples of the same locations in all frames (T x locations), those not seen filled linearly in time."""
    if seen.all():
        return values
    values = values.copy()
    times = np.arange(len(values))
    for column, here in zip(values.T, seen.T, strict=True):
        if here.any():
            column[~here] = np.interp(times[~here], times[here], column[here])
    return values


@dataclass(frozen=True, eq=False)
class Bands:
    """Squared distances of the frames in bands of spatial frequency.

    Attributes
    ----------
    distances : bands x T x T.
    medians : bands, the median of those of different frames (on the host).
    upto : outer radius of each band but the last, as a part of half the width of k-space.
    """

    distances: Array
    medians: Array
    upto: tuple[float, ...]

    @classmethod
    def of(cls, values: Array, radii: Array) -> Bands:
        """From samples at the same places in every frame, T x L, and their radii (on the host; 1 at the edge)."""
        inner = (0.0, *BORDERS)
        outer = (*BORDERS, np.inf)
        distances: list[Array] = []
        upto: list[float] = []
        for low, high in zip(inner, outer, strict=True):
            near = (radii >= low - OVERLAP) & (radii < high + OVERLAP)
            if np.count_nonzero(near) >= FEWEST or not distances:
                used = np.flatnonzero(near if near.any() else np.ones_like(near))
                distances.append(squared_distances(gram(values[:, beside(used, values)])))
                upto.append(high)
            else:
                upto[-1] = high
        stacked: Array = library(values).stack(distances)
        return cls(stacked, median_distance(stacked), tuple(upto[:-1]))

    @classmethod
    def of_signal(cls, signal: Array) -> Bands:
        """From anything measured alike in every frame, T x ...: one band for all."""
        return cls.of(signal.reshape(len(signal), -1), np.zeros(signal[0].size))

    @classmethod
    def of_coils(cls, coils: Iterable[Array], seen: Array, radii: Array, place: Placement) -> Bands:
        """From samples of each coil at the same locations (T x L), those not seen filled in time.

        Parameters
        ----------
        coils, seen : T x L for each coil, and booleans for all; on the host.
        radii : of the L locations.
        place : where to compare the frames.
        """
        filled = [filled_in_time(values, seen) for values in coils]
        return cls.of(place(np.concatenate(filled, axis=1)), np.tile(radii, len(filled)))

    def __len__(self) -> int:
        return len(self.distances)

    def beside(self, other: Array) -> Bands:
        """The same where another array lies."""
        return (
            self
            if library(self.distances) is library(other)
            else replace(self, distances=beside(self.distances, other))
        )

    def which(self, radii: Array) -> Array:
        """The band of each location."""
        return np.digitize(radii, self.upto)

    def kernels(self, scale: float) -> Array:
        """H1 weights of the frames in each band, and a constant: bands x T x T, in double precision."""
        variances = beside(scale * self.medians[:, None, None], self.distances)
        return h1_kernel(self.distances, variances) + CONSTANT
