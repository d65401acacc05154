"""Tiles of the image: all tiles of one size are processed together on a GPU, and one after the other on a CPU."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fusewise.kernels import beside, library
from fusewise.mri.tensors import Array


@dataclass(frozen=True, eq=False)
class Tiles:
    """Rectangles that cover a ny x nx image, in the order of their size.

    Attributes
    ----------
    borders : borders of the tiles, along y and along x.
    """

    borders: tuple[Array, Array]

    @classmethod
    def of(cls, shape: tuple[int, int], side: float) -> Tiles:
        """Divide an image into tiles of about `side` x `side` pixels."""
        return cls((_borders(shape[0], side), _borders(shape[1], side)))

    @property
    def areas(self) -> Array:
        """Number of pixels of each tile."""
        return np.asarray(self._corners[:, 1].prod(axis=1))

    def smoother(self, window: float) -> Array:
        """Tiles x tiles: weight of each tile's pixels under a Gaussian around a tile, normalised to one pixel."""
        along_y, along_x = (_smoother(border, window) for border in self.borders)
        return np.asarray(np.kron(along_y, along_x)[np.ix_(self._order, self._order)])

    def batches(self, like: Array) -> list[tuple[slice, Any]]:
        """Tiles to be processed together on the device of `like`, and the index of their pixels in T x ny x nx images.

        Indexed pixels are T x (tiles x) height x width: on the host of a single tile, as slices are faster than index
        arrays; on a device of all tiles of one size.
        """
        where = None if library(like) is np else str(like.device)
        if where not in self._known_batches:
            self._known_batches[where] = self._cut(like)
        return self._known_batches[where]

    @cached_property
    def _known_batches(self) -> dict[str | None, list[tuple[slice, Any]]]:
        return {}

    def _cut(self, like: Array) -> list[tuple[slice, Any]]:
        corners = self._corners
        if library(like) is np:
            ends = corners.sum(axis=1)
            return [
                (slice(k, k + 1), np.s_[:, y:y_end, x:x_end])
                for k, ((y, x), (y_end, x_end)) in enumerate(zip(corners[:, 0], ends, strict=True))
            ]
        found, start = [], 0
        sizes, counts = np.unique(corners[:, 1], axis=0, return_counts=True)
        for (height, width), count in zip(sizes, counts, strict=True):
            some = slice(start, start + int(count))
            y, x = corners[some, 0].T[:, :, None, None]
            rows, columns = y + np.arange(height)[:, None], x + np.arange(width)
            found.append((some, (slice(None), beside(rows, like), beside(columns, like))))
            start += int(count)
        return found

    @cached_property
    def _corners(self) -> Array:
        """Tiles x 2 x 2: first row and column, height and width."""
        return self._unordered[self._order]

    @cached_property
    def _order(self) -> Array:
        return np.lexsort(self._unordered[:, 1].T[::-1])

    @property
    def _unordered(self) -> Array:
        along_y, along_x = (np.stack([border[:-1], np.diff(border)], axis=1) for border in self.borders)
        pairs = np.broadcast_arrays(along_y[:, None], along_x[None])
        return np.stack(pairs, axis=-1).reshape(-1, 2, 2)


def _borders(length: int, side: float) -> Array:
    count = min(length, max(1, round(length / side)))
    return np.rint(np.linspace(0, length, count + 1)).astype(int)


def _smoother(border: Array, window: float) -> Array:
    middles = (border[1:] + border[:-1]) / 2
    weights = np.exp(-0.5 * np.square((middles[:, None] - middles[None]) / window))
    return np.asarray(weights / (weights * np.diff(border)).sum(axis=1, keepdims=True))
