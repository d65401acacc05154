"""The image cut into tiles, all worked on at once: what is done tile by tile becomes one product of many matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fusewise.kernels.arrays import beside
from fusewise.mri.arrays import Array


@dataclass(frozen=True, eq=False)
class Tiles:
    """Rectangles that cover a ny x nx image; the smaller ones are filled up to the size of the largest.

    Attributes
    ----------
    borders : of the tiles, along y and along x.
    pixels : tiles x size, the pixels of each tile; where filled up, its first one again.
    filled : tiles x 1 x size, 1 for a pixel and 0 where filled up.
    slots : ny nx, where each pixel stands among all slots of all tiles.
    """

    borders: tuple[Array, Array]
    pixels: Array
    filled: Array
    slots: Array

    @classmethod
    def of(cls, shape: tuple[int, int], side: float) -> Tiles:
        """Tiles of about `side` x `side` pixels."""
        borders = _borders(shape[0], side), _borders(shape[1], side)
        (ys, height), (xs, width) = (_members(border) for border in borders)
        pixels = ys[:, None, :, None] * shape[1] + xs[None, :, None, :]
        filled = height[:, None, :, None] & width[None, :, None, :]
        size = ys.shape[1] * xs.shape[1]
        pixels, filled = pixels.reshape(-1, size), filled.reshape(-1, size)
        slots = np.empty(shape[0] * shape[1], dtype=np.intp)
        slots[pixels[filled]] = np.flatnonzero(filled)
        return cls(borders, pixels, filled[:, None].astype(np.float32), slots)

    def beside(self, other: Array) -> Tiles:
        """The same where another array lies."""
        parts = (beside(part, other) for part in (self.pixels, self.filled, self.slots))
        return Tiles(self.borders, *parts)

    def split(self, images: Array) -> Array:
        """Images T x ny x nx to tiles x T x size."""
        return images.reshape(len(images), -1)[:, self.pixels].swapaxes(0, 1)

    def join(self, parts: Array, shape: tuple[int, ...]) -> Array:
        """The inverse of ``split``."""
        rows = parts.swapaxes(0, 1).reshape(parts.shape[1], -1)
        return rows[:, self.slots].reshape(shape)

    @property
    def areas(self) -> Array:
        """Pixels of each tile (on the host)."""
        return np.outer(np.diff(self.borders[0]), np.diff(self.borders[1])).ravel()

    def smoother(self, window: float) -> Array:
        """Tiles x tiles: weight of each tile's pixels under a Gaussian about a tile, one pixel in all (on the host)."""
        along_y, along_x = (_smoother(border, window) for border in self.borders)
        return np.kron(along_y, along_x)


def _borders(length: int, side: float) -> Array:
    count = min(length, max(1, round(length / side)))
    return np.rint(np.linspace(0, length, count + 1)).astype(int)


def _members(border: Array) -> tuple[Array, Array]:
    """Rows (or columns) of each strip, filled up with its first one, and which are its own."""
    lengths = np.diff(border)[:, None]
    steps = np.arange(lengths.max())
    own = steps < lengths
    return border[:-1, None] + np.where(own, steps, 0), own


def _smoother(border: Array, window: float) -> Array:
    middles = (border[1:] + border[:-1]) / 2
    weights = np.exp(-0.5 * np.square((middles[:, None] - middles[None]) / window))
    return np.asarray(weights / (weights * np.diff(border)).sum(axis=1, keepdims=True))
