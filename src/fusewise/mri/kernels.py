"""How alike the frames are: the H1 weights of pairs of frames, read as a covariance in time.

With d_ij the distance of frames i and j (in some part of k-space or of the image), the H1 weight of the pair,

    K_ij = exp(-d_ij² / (2 sigma²)),

is a positive definite kernel. Fusion asks that like frames be equal; the kernel asks the same and forgives more: the
estimate of a frame is the interpolation, along the manifold of frames, of what its neighbours saw. Interpolation has
no bias where frames change linearly between neighbours, which averaging (the graph Laplacian) has.

sigma² is `scale` times the median squared distance, so that one unit-free number serves every part of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from fusewise.kernels.arrays import beside, library, to_host
from fusewise.mri.arrays import Array, add_to_diagonals, as_real, median, real_times

#: Kernels are built and applied in single precision: their error is far below that of any reconstruction.
PRECISION = np.float32


def squared_distances(gram: Array) -> Array:
    """d_ij² = G_ii + G_jj - 2 G_ij, from the real Gram matrix of the frames."""
    squares: Array = library(gram).diagonal(gram)
    distances: Array = squares[:, None] + squares[None] - 2 * gram
    return distances.clip(0)


def gram(rows: Array) -> Array:
    """Re <u_i, u_j> of rows about their mean."""
    rows = rows.reshape(len(rows), -1)
    real = as_real(rows - rows.mean(axis=0))
    return real @ real.T


def median_distance(distances: Array) -> float:
    """Median of the squared distances of different frames (1 where all frames are equal)."""
    xp = library(distances)
    above = distances[xp.triu(xp.ones_like(distances), 1) > 0]
    middle = median(above) if len(above) else 0.0
    return middle if middle > 0 else 1.0


def h1_kernel(distances: Array, variance: float) -> Array:
    """exp(-d² / (2 sigma²)), sigma² = `variance`."""
    return library(distances).exp(distances * (-0.5 / variance))  # type: ignore[no-any-return]


def mixed_kernel(distances: Array, variance: float) -> Array:
    """Mean of two H1 kernels, at sigma² and at 4 sigma²: near frames weigh most, and far ones are not forgotten."""
    narrow = h1_kernel(distances, variance)
    sqrt = library(distances).sqrt
    return 0.5 * (narrow + sqrt(sqrt(narrow)))  # type: ignore[no-any-return]


def effective_rank(kernel: Array, noise: float) -> int:
    """tr K (K + lam I)^-1, rounded: the directions in time that stand out of the noise."""
    values = np.maximum(np.linalg.eigvalsh(to_host(kernel)), 0)
    return round(float((values / (values + noise)).sum()))


@dataclass(frozen=True, eq=False)
class LocalKernels:
    """A covariance in time that differs from place to place: K(x) = variance(x) x H1 weights of the frames around x.

    The heart and the diaphragm move apart, so no one weight per pair of whole frames fits both. The image is cut into
    cells; the distances of the frames in a cell are those under a Gaussian window about it, and the cell's mean
    squared deviation from the mean frame is its variance: where nothing moves, nothing is made up.

    Attributes
    ----------
    edges : borders of the cells along y and x.
    distances : cells x T x T, squared distances per pixel.
    medians : cells, the median of those of different frames.
    variances : cells, mean squared deviation per pixel.
    scale : sigma² in units of each cell's median squared distance.
    constant : variance of what all frames share, in units of the cell's; 0 where the mean has been subtracted.
    """

    edges: tuple[Array, Array]
    distances: Array
    medians: Array
    variances: Array
    scale: float
    constant: float = 0.0

    @classmethod
    def of(cls, images: Array, scale: float, cell: float = 12.0, window: float = 12.0) -> LocalKernels:
        """Kernels of a series of images.

        Parameters
        ----------
        images : T x ny x nx.
        scale : see the class.
        cell : side of a cell, in pixels.
        window : standard deviation of the Gaussian window, in pixels.
        """
        edges = _borders(images.shape[1], cell), _borders(images.shape[2], cell)
        blur = np.kron(_smoother(edges[0], window), _smoother(edges[1], window))
        moving = images - images.mean(axis=0)
        grams = library(images).stack([gram(moving[:, rows, columns]) for rows, columns in _cells(edges)])
        grams = (beside(blur.astype(PRECISION), grams) @ grams.reshape(len(blur), -1)).reshape(grams.shape)
        variances = to_host(library(images).einsum("cii->c", grams)) / len(images)
        for k in range(len(grams)):
            grams[k] = squared_distances(grams[k])
        return cls(edges, grams, np.array([median_distance(d) for d in grams]), variances, scale)

    def at(self, scale: float) -> LocalKernels:
        """The same distances at another scale."""
        return replace(self, scale=scale)

    def kernels(self) -> Iterator[Array | None]:
        """Kernel of each cell; None where the variance is nil beside the others'."""
        floor = 1e-6 * float(self.variances.max(initial=0))
        for d, m, v in zip(self.distances, self.medians, self.variances, strict=True):
            kernel = mixed_kernel(d, self.scale * float(m)) + self.constant if v > floor else None
            yield None if kernel is None else kernel * float(v)

    @property
    def variance(self) -> float:
        """Mean over the image of the variance of a pixel: the unit of the noise level."""
        return float(np.average(self.variances, weights=self._areas()))

    def mean_kernel(self) -> Array:
        """K(x) averaged over the image: the covariance that every single k-space location has."""
        areas = self._areas() / self._areas().sum()
        total: Array = library(self.distances).zeros_like(self.distances[0])
        for area, kernel in zip(areas, self.kernels(), strict=True):
            if kernel is not None:
                total += float(area) * kernel
        return total

    def apply(self, images: Array) -> Array:
        """sum_j K_ij(x) u_j(x)."""
        return self.times()(images)

    def times(self) -> Callable[[Array], Array]:
        """``apply`` as a function that holds its matrices, to be called often."""
        matrices = list(self.kernels())
        return lambda images: self._by_cell(matrices, images, 0.0)

    def shrunk(self, density: float, noise: float) -> Callable[[Array], Array]:
        """(density K(x) + noise I)^-1, as a function of images."""

        def invert(kernel: Array) -> Array:
            system = density * kernel
            add_to_diagonals(system, noise)
            return library(system).linalg.inv(system)  # type: ignore[no-any-return]

        inverses = [None if kernel is None else invert(kernel) for kernel in self.kernels()]
        return lambda images: self._by_cell(inverses, images, 1 / noise)

    def _by_cell(self, matrices: Iterable[Array | None], images: Array, otherwise: float) -> Array:
        """A matrix in time for each cell; a multiple of the identity where there is none."""
        out = images * otherwise
        for (rows, columns), matrix in zip(_cells(self.edges), matrices, strict=True):
            if matrix is not None:
                part = images[:, rows, columns]
                out[:, rows, columns] = real_times(matrix, part.reshape(len(part), -1)).reshape(part.shape)
        return out

    def _areas(self) -> Array:
        return np.outer(np.diff(self.edges[0]), np.diff(self.edges[1])).ravel()


def _borders(length: int, cell: float) -> Array:
    return np.rint(np.linspace(0, length, max(1, round(length / cell)) + 1)).astype(int)


def _cells(edges: tuple[Array, Array]) -> list[tuple[slice, slice]]:
    spans = [[slice(a, b) for a, b in pairwise(border)] for border in edges]
    return [(rows, columns) for rows in spans[0] for columns in spans[1]]


def _smoother(border: Array, window: float) -> Array:
    """Rows: weight of each cell's pixels in the window about a cell, the window holding one pixel in all."""
    middles = (border[1:] + border[:-1]) / 2
    weights = np.exp(-0.5 * np.square((middles[:, None] - middles[None]) / window))
    return np.asarray(weights / (weights * np.diff(border)).sum(axis=1, keepdims=True))
