"""Samples off the grid, seen from the grid: which cell of k-space each falls into.

Where a frame has several samples in one cell (a radial line near the centre), they share the weight of one. With H the
map that gives every sample the value of its cell times the root of its weight, H' H = I on the cells seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import fft

from fusewise.mri.fourier import AXES, Array
from fusewise.mri.interpolate import LocationInverse, group_locations
from fusewise.mri.kernels import PRECISION


@dataclass(frozen=True, eq=False)
class Cells:
    """Samples T x S in cells of a ny x nx grid (plain layout).

    Attributes
    ----------
    shape : (T, ny, nx).
    index : T x S, the cell of each sample among the ny nx of its frame.
    roots : T x S, root of one over the number of samples of the frame in that cell.
    """

    shape: tuple[int, int, int]
    index: Array
    roots: Array

    @classmethod
    def of(cls, trajectory: Array, shape: tuple[int, int]) -> Cells:
        """Of positions T x S x 2 in cycles per pixel."""
        size = np.array(shape)
        nearest = np.rint(trajectory * size).astype(int) % size
        index = nearest[..., 0] * shape[1] + nearest[..., 1]
        frames, n_cells = len(trajectory), int(size.prod())
        counts = np.zeros((frames, n_cells), np.int32)
        np.add.at(counts, (np.arange(frames)[:, None], index), 1)
        roots = 1 / np.sqrt(np.take_along_axis(counts, index, axis=1))
        return cls((frames, *shape), index, roots.astype(np.float32))

    @property
    def mask(self) -> Array:
        """T x (ny nx): cells with a sample."""
        seen = np.zeros((self.shape[0], self.shape[1] * self.shape[2]), dtype=bool)
        np.put_along_axis(seen, self.index, True, axis=1)
        return seen

    def gather(self, samples: Array) -> Array:
        """H' b of one coil (T x S): T x (ny nx)."""
        frames, n_cells = self.shape[0], self.shape[1] * self.shape[2]
        flat = (self.index + np.arange(frames)[:, None] * n_cells).ravel()
        weighted = (samples * self.roots).ravel()
        sums = np.bincount(flat, weighted.real, frames * n_cells) + 1j * np.bincount(
            flat, weighted.imag, frames * n_cells
        )
        return sums.reshape(frames, n_cells).astype(np.complex64)

    def spread(self, cells: Array) -> Array:
        """H v (T x S)."""
        return np.asarray(np.take_along_axis(cells, self.index, axis=1) * self.roots)

    def means(self, samples: Array) -> Array:
        """Mean sample of each cell of one coil, T x ny x nx in the centred layout, zero where there is none."""
        # H' of samples times their roots is their mean; the plain layout's phases undo with those of k-space itself.
        mean = self.gather(samples * self.roots).reshape(self.shape)
        return np.asarray(fft.fftshift(mean, axes=AXES))

    def preconditioner(self, kernel: Array, noise: float) -> CellInverse:
        """See ``CellInverse``."""
        return CellInverse(self, LocationInverse.under(kernel, group_locations(self.mask), noise), noise)


@dataclass(frozen=True, eq=False)
class CellInverse:
    """H (S K S' + lam I)^-1 H' + (I - H H') / lam: the inverse, were all samples of a cell at its middle."""

    cells: Cells
    inverse: LocationInverse
    noise: float

    def __call__(self, samples: Array) -> Array:
        """Of weighted samples T x coils x S, each coil by itself."""
        out = np.empty_like(samples)
        for coil in range(samples.shape[1]):
            gathered = self.cells.gather(samples[:, coil])
            solved = self.inverse.apply(gathered) - gathered / PRECISION(self.noise)
            out[:, coil] = self.cells.spread(solved) + samples[:, coil] / PRECISION(self.noise)
        return out
