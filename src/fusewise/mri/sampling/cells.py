"""Assignment of samples off the grid to the cells of a k-space grid.

If a frame has several samples in one cell (radial lines near the centre), they share the weight of one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fusewise.kernels.arrays import beside
from fusewise.mri.tensors import Array, sums_at


@dataclass(frozen=True, eq=False)
class GridCells:
    """Samples T x S assigned to cells of a ny x nx grid (plain layout).

    Attributes
    ----------
    shape : (T, ny, nx).
    index : T x S, the cell of each sample among the ny nx of its frame.
    roots : T x S, 1 / sqrt(number of samples of the frame in that cell); 0 for unused samples.
    """

    shape: tuple[int, int, int]
    index: Array
    roots: Array

    @classmethod
    def of(cls, trajectory: Array, shape: tuple[int, int], used: Array | None = None) -> GridCells:
        """Assign positions T x S x 2 in cycles per pixel; `used`: T x S booleans, None: all samples."""
        size = np.array(shape)
        nearest = np.rint(trajectory * size).astype(int) % size
        index = nearest[..., 0] * shape[1] + nearest[..., 1]
        frames, n_cells = len(trajectory), int(size.prod())
        kept = np.ones(index.shape, dtype=bool) if used is None else used
        counts = np.zeros((frames, n_cells), np.int32)
        np.add.at(counts, (np.arange(frames)[:, None], index), kept)
        roots = kept / np.sqrt(np.maximum(np.take_along_axis(counts, index, axis=1), 1))
        return cls((frames, *shape), index, roots.astype(np.float32))

    @property
    def mask(self) -> Array:
        """T x ny x nx: cells with a used sample."""
        seen = np.zeros((self.shape[0], self.shape[1] * self.shape[2]), dtype=bool)
        frames, samples = np.nonzero(self.roots)
        seen[frames, self.index[frames, samples]] = True
        return seen.reshape(self.shape)

    def means(self, samples: Array) -> Array:
        """Mean sample of each cell of one coil (T x S, on any device), T x ny x nx, zero where there is none."""
        frames, n_cells = self.shape[0], self.shape[1] * self.shape[2]
        places = beside((self.index + np.arange(frames)[:, None] * n_cells).ravel(), samples)
        shared = samples * beside(np.square(self.roots), samples)
        means: Array = sums_at(places, shared.reshape(-1), frames * n_cells).reshape(self.shape)
        return means
