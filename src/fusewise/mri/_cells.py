"""Assignment of samples off the grid to the cells of a k-space grid.

If a frame has several samples in one cell (radial lines near the centre), they share the weight of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fusewise.kernels import beside, library
from fusewise.mri._tensors import Array, sums_at


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
        cells = cls((len(trajectory), *shape), index, np.ones(index.shape, np.float32))
        return cells.using(np.ones(index.shape, dtype=bool) if used is None else used)

    def using(self, used: Array) -> GridCells:
        """Return the same cells with only the samples that are `used` (T x S booleans)."""
        cells = self.shape[1] * self.shape[2]
        pairs = zip(self.index, used, strict=True)
        counts = np.stack([np.bincount(index[here], minlength=cells)[index] for index, here in pairs])
        return GridCells(self.shape, self.index, (used / np.sqrt(np.maximum(counts, 1))).astype(np.float32))

    @cached_property
    def mask(self) -> Array:
        """T x ny x nx: cells with a used sample."""
        seen = np.zeros(int(np.prod(self.shape)), dtype=bool)
        seen[self._places[self.roots > 0]] = True
        return seen.reshape(self.shape)

    def means(self, samples: Array) -> Array:
        """Mean sample of each cell of one coil (T x S, on any device), T x ny x nx, zero where there is none."""
        places, shares = self._beside(samples)
        sums = sums_at(places, (samples * shares).reshape(-1), int(np.prod(self.shape)))
        means: Array = sums.reshape(self.shape)
        return means

    @cached_property
    def _places(self) -> Array:
        """T x S, the cell of each sample among those of all frames."""
        frames, ny, nx = self.shape
        return self.index + ny * nx * np.arange(frames)[:, None]

    def _beside(self, samples: Array) -> tuple[Array, Array]:
        """Cells and shares of the samples on the device of other arrays; copied there once, as there are many coils."""
        where = None if library(samples) is np else str(samples.device)
        if where not in self._copies:
            self._copies[where] = beside(self._places.ravel(), samples), beside(np.square(self.roots), samples)
        return self._copies[where]

    @cached_property
    def _copies(self) -> dict[str | None, tuple[Array, Array]]:
        return {}
