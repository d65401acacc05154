"""Fourier sums at any points as matrix products, for arrays of any library.

exp(2 pi i k . x) is a factor along y times one along x, so that the adjoint image of the samples b of a frame is
E_y' diag(b) E_x: as many multiplications as samples times pixels, which a GPU does in less time than it takes the host
to grid them, and exact except for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fusewise.kernels import beside, library
from fusewise.mri.tensors import Array, batches, zeros


@dataclass(frozen=True, eq=False)
class FourierSums:
    """``operators.Nufft`` by its defining sum.

    Attributes
    ----------
    trajectory : T x samples x 2 positions (along y, along x) in cycles per pixel, in double precision.
    maps : coils x ny x nx, on the same device; ones of shape 1 x ny x nx for a single coil.
    """

    trajectory: Array
    maps: Array

    @property
    def shape(self) -> tuple[int, int, int]:
        """(T, ny, nx)."""
        return len(self.trajectory), int(self.maps.shape[1]), int(self.maps.shape[2])

    def forward(self, images: Array) -> Array:
        """A_i u_i."""
        found = []
        for some in self._batches():
            along_y, along_x = self._waves(some)
            seen = images[some][:, None] * self.maps
            rows = along_x.conj()[:, None] @ seen.swapaxes(2, 3)
            found.append((rows * along_y.conj()[:, None]).sum(axis=3))
        return self._joined(found)

    def adjoint(self, samples: Array) -> Array:
        """A_i' b_i."""
        found = []
        for some in self._batches():
            along_y, along_x = self._waves(some)
            spread = along_y[:, None] * samples[some][..., None]
            images = spread.swapaxes(2, 3) @ along_x[:, None]
            found.append((images * self.maps.conj()).sum(axis=1))
        return self._joined(found)

    def _batches(self) -> list[slice]:
        entries = len(self.maps) * self.trajectory.shape[1] * max(self.shape[1:])
        return batches(len(self.trajectory), entries, self.maps)

    def _waves(self, some: slice) -> tuple[Array, Array]:
        """exp(2 pi i k (x - centre)) of some frames along y and along x: frames x samples x ny, and x nx."""
        xp = library(self.maps)
        waves = []
        for axis, places in enumerate(self._pixels):
            turns = 2 * np.pi * self.trajectory[some][..., axis, None] * places
            wave = zeros(tuple(turns.shape), self.maps)
            wave.real[...], wave.imag[...] = xp.cos(turns), xp.sin(turns)
            waves.append(wave)
        return waves[0], waves[1]

    @cached_property
    def _pixels(self) -> list[Array]:
        """Pixels along y and along x, from the centre."""
        return [beside(np.arange(length) - length // 2.0, self.trajectory) for length in self.shape[1:]]

    def _joined(self, parts: list[Array]) -> Array:
        found: Array = library(self.maps).concatenate(parts)
        found *= 1 / np.sqrt(self.shape[1] * self.shape[2])
        return found
