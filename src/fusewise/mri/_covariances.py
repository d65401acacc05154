"""Similarity of frames: the H1 weights of pairs of frames, used as a covariance in time.

With d_ij the distance of frames i and j (in some part of k-space or of the image), the weight exp(-d_ij² / (2 sigma²))
is a positive definite kernel (``_interpolation`` says what it is used for). sigma² is `scale` times the median squared
distance, so that one unit-free number suits all parts of the data.

Before there are images, frames are told apart by a navigator, or by samples at locations that all or most frames
sampled (navigator lines, or the centre of k-space, which all radial lines cross).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fusewise.kernels import beside, library, to_host
from fusewise.mri._tensors import (
    Array,
    add_to_diagonals,
    as_real,
    batches,
    double,
    each,
    gram,
    inverse,
    real_times,
    single,
    zeros,
)
from fusewise.pairs import h1_weight

#: Kernels are built and applied in single precision: the error is far below that of any reconstruction.
PRECISION = np.float32

#: Frames are compared by locations sampled in this share of them: few gaps exceed one frame, and are interpolated.
COMMON_SHARE = 0.5

#: If fewer locations than this are sampled that often, this many of the most frequently sampled ones are used.
FEWEST_LOCATIONS = 64


def squared_distances(gram: Array) -> Array:
    """d_ij² = G_ii + G_jj - 2 G_ij, from the real Gram matrix of the frames; one matrix or many (... x T x T)."""
    squares: Array = library(gram).diagonal(gram, 0, -2, -1)
    distances: Array = squares[..., :, None] + squares[..., None, :] - 2 * gram
    return distances.clip(0)


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


def navigator_distances(values: Array, seen: Array | None = None) -> Array:
    """Squared distances of the frames by a signal (T x ...), or by samples (T x ... x L) missing where not `seen`."""
    return squared_distances(gram(values if seen is None else filled_in_time(values, seen)))


def median_distance(distances: Array) -> Array:
    """Median (on the host) of the squared distances of different frames, ... x T x T; 1 if all frames are equal."""
    above = np.flatnonzero(np.triu(np.ones(distances.shape[-2:], dtype=bool), 1))
    if not len(above):
        return np.ones(distances.shape[:-2])
    values = distances.reshape(*distances.shape[:-2], -1)[..., beside(above, distances)]
    if library(values) is np:
        middle = np.asarray(np.median(values, axis=-1), dtype=float)
    else:  # torch's own takes the lower of the two in the middle
        ordered, count = library(values).sort(values, -1).values, len(above)
        middle = to_host((ordered[..., (count - 1) // 2] + ordered[..., count // 2]) / 2).astype(float)
    return np.where(middle > 0, middle, 1.0)


def effective_rank(kernel: Array, noise: float) -> int:
    """tr K (K + lam I)^-1 = T - lam tr (K + lam I)^-1, rounded: the number of directions in time above the noise."""
    system = double(kernel) + 0.0
    add_to_diagonals(system, noise)
    return round(len(kernel) - noise * float(library(kernel).trace(inverse(system))))


@dataclass(frozen=True, eq=False)
class Tiles:
    """Rectangles that cover a ny x nx image, in the order of their size."""

    borders: tuple[Array, Array]  # of the tiles, along y and along x
    order: Array  # from tiles row by row to tiles by size
    corners: Array  # tiles x 2, first row and column
    sides: Array  # tiles x 2, height and width

    @classmethod
    def of(cls, shape: tuple[int, int], side: float) -> Tiles:
        """Divide an image into tiles of about `side` x `side` pixels."""
        counts = (min(length, max(1, round(length / side))) for length in shape)
        cuts = [np.rint(np.linspace(0, n, count + 1)).astype(int) for n, count in zip(shape, counts, strict=True)]
        corners, sides = (
            np.stack(np.meshgrid(*parts, indexing="ij"), axis=-1).reshape(-1, 2)
            for parts in ([cut[:-1] for cut in cuts], [np.diff(cut) for cut in cuts])
        )
        order = np.lexsort(sides.T[::-1])
        return cls((cuts[0], cuts[1]), order, corners[order], sides[order])

    @property
    def areas(self) -> Array:
        return np.asarray(self.sides.prod(axis=1))

    def smoother(self, window: float) -> Array:
        """Tiles x tiles: weight of each tile's pixels under a Gaussian around a tile, normalised to one pixel."""
        along = []
        for border in self.borders:
            middles = (border[1:] + border[:-1]) / 2
            weights = np.exp(-0.5 * np.square((middles[:, None] - middles[None]) / window))
            along.append(weights / (weights * np.diff(border)).sum(axis=1, keepdims=True))
        return np.asarray(np.kron(*along)[np.ix_(self.order, self.order)])

    def batches(self, like: Array) -> list[tuple[slice, Any]]:
        """Tiles to be processed together on the device of `like`, and the index of their pixels in T x ny x nx images.

        Indexed pixels are T x (tiles x) height x width: on the host of a single tile, as slices are faster than index
        arrays; on a device of all tiles of one size.
        """
        if library(like) is np:
            rectangles = enumerate(zip(self.corners, self.corners + self.sides, strict=True))
            return [(slice(k, k + 1), np.s_[:, y : end[0], x : end[1]]) for k, ((y, x), end) in rectangles]
        found, start = [], 0
        sizes, counts = np.unique(self.sides, axis=0, return_counts=True)
        for (height, width), count in zip(sizes, counts, strict=True):
            some = slice(start, start + int(count))
            y, x = self.corners[some].T[:, :, None, None]
            rows, columns = y + np.arange(height)[:, None], x + np.arange(width)
            found.append((some, (slice(None), beside(rows, like), beside(columns, like))))
            start += int(count)
        return found


@dataclass(frozen=True, eq=False)
class LocalMatrices:
    """A T x T matrix for each tile of the image, applied to the time course of each of its pixels."""

    tiles: Tiles
    matrices: Array  # tiles x T x T

    def __call__(self, images: Array, out: Array | None = None) -> Array:
        """sum_j M_ij(x) u_j(x); `out` may be the images themselves."""
        found: Array = library(images).empty_like(images) if out is None else out

        def multiply(batch: tuple[slice, Any]) -> None:
            some, where = batch
            part = images[where]
            found[where] = real_times(self.matrices[some], _by_tile(part)).swapaxes(0, 1).reshape(part.shape)

        each(multiply, self.tiles.batches(images), images)
        return found

    def mean(self) -> Array:
        """M(x) averaged over the image; for a covariance, that of every single k-space location."""
        weights = (self.tiles.areas / self.tiles.areas.sum()).astype(PRECISION)
        flat = self.matrices.reshape(len(weights), -1)
        return (beside(weights, flat) @ flat).reshape(self.matrices.shape[1:])  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class LocalKernels:
    """A covariance in time that varies over the image: K(x) = variance(x) x H1 weights of the frames around x.

    The heart and the diaphragm move independently, so no single weight per pair of frames fits both. The image is
    divided into tiles; the distances of the frames in a tile are those under a Gaussian window around it, and the
    tile's mean squared deviation from the mean frame is its variance, so that static tiles stay static.
    """

    tiles: Tiles
    distances: Array  # tiles x T x T, squared distances per pixel
    medians: Array  # tiles, the median distance of different frames (on the host)
    variances: Array  # tiles, mean squared deviation per pixel (on the host)
    scale: float  # sigma² in units of each tile's median squared distance

    @classmethod
    def of(cls, images: Array, scale: float, side: float, window: float) -> LocalKernels:
        """Compute from images T x ny x nx, for tiles of about `side` pixels, under a Gaussian window."""
        tiles = Tiles.of((images.shape[1], images.shape[2]), side)
        moving = images - images.mean(axis=0)
        frames, count = len(images), len(tiles.areas)
        grams = zeros((count, frames, frames), as_real(moving[0, 0]))

        def compare(batch: tuple[slice, Any]) -> None:
            some, where = batch
            parts = as_real(_by_tile(moving[where]))
            grams[some] = parts @ parts.swapaxes(1, 2)

        each(compare, tiles.batches(images), images)
        blur = beside(tiles.smoother(window).astype(PRECISION), grams)
        pairs = grams.reshape(count, -1)

        def smooth(some: slice) -> None:
            pairs[:, some] = blur @ pairs[:, some]

        each(smooth, batches(frames**2, count, grams), grams)
        variances = to_host(library(images).einsum("cii->c", grams)) / frames
        middles = np.empty(count)

        def measure(some: slice) -> None:
            grams[some] = squared_distances(grams[some])
            middles[some] = median_distance(grams[some])

        each(measure, batches(count, frames**2, grams), grams)
        return cls(tiles, grams, middles, variances, scale)

    @classmethod
    def of_distances(cls, distances: Array, shape: tuple[int, int], scale: float) -> LocalKernels:
        """One kernel of unit variance for a whole image, from the squared distances of the frames."""
        one = single(distances)[None]
        return cls(Tiles.of(shape, max(shape)), one, median_distance(one), np.ones(1), scale)

    @property
    def variance(self) -> float:
        """Mean over the image of the variance of a pixel: the unit of the noise level."""
        return float(np.average(self.variances, weights=self.tiles.areas))

    @cached_property
    def covariance(self) -> LocalMatrices:
        """K(x); zero in tiles whose variance is negligible."""
        return LocalMatrices(self.tiles, self._evaluated())

    def smoothing(self, density: float, noise: float) -> LocalMatrices:
        """K(x) (density K(x) + noise I)^-1 = (I - noise (density K(x) + noise I)^-1) / density."""
        kernels = self._evaluated()

        def invert(some: slice) -> None:
            system = density * kernels[some]
            add_to_diagonals(system, noise)
            library(kernels).multiply(inverse(system), -noise / density, out=kernels[some])
            add_to_diagonals(kernels[some], 1 / density)

        each(invert, batches(len(kernels), kernels.shape[1] ** 2, kernels), kernels)
        return LocalMatrices(self.tiles, kernels)

    def _evaluated(self) -> Array:
        """The mean of two H1 kernels, at sigma² and at 4 sigma²: close frames count most, and distant ones still do."""
        heights = np.where(self.variances > 1e-6 * self.variances.max(initial=0), self.variances, 0)
        widths, heights = (
            beside(values.astype(PRECISION)[:, None, None], self.distances)
            for values in (self.scale * self.medians, heights)
        )
        kernels: Array = library(self.distances).empty_like(self.distances)

        def evaluate(some: slice) -> None:
            wide = h1_weight(self.distances[some], 4 * widths[some])
            kernel = library(wide).multiply(wide, wide, out=kernels[some])
            kernel *= kernel  # the narrow one: the fourth power
            kernel += wide
            kernel *= 0.5 * heights[some]

        each(evaluate, batches(len(kernels), kernels.shape[1] ** 2, kernels), kernels)
        return kernels


def _by_tile(pixels: Array) -> Array:
    """Reshape pixels T x (tiles x) height x width of tiles to tiles x T x pixels."""
    count = 1 if pixels.ndim == 3 else pixels.shape[1]
    return pixels.reshape(len(pixels), count, -1).swapaxes(0, 1)
