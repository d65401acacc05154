"""Sampling operators A_i of frames, all frames at once: images (T x ny x nx) to samples and back.

Every operator has ``forward`` (A u) and ``adjoint`` (A' b), exact adjoints of each other, and A' A of norm about 1 per
unit of sampling density.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from fusewise.kernels import beside, library
from fusewise.mri._fourier import invert, transform
from fusewise.mri._tensors import Array, batches, fft2, ifft2, threads, zeros


class FrameOperator(Protocol):
    """A: images to samples, frame by frame."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """(T, ny, nx)."""
        ...

    def forward(self, images: Array) -> Array:
        """A_i u_i."""
        ...

    def adjoint(self, samples: Array) -> Array:
        """A_i' b_i."""
        ...


@dataclass(frozen=True, eq=False)
class Cartesian:
    """A_i u = mask_i * F(maps * u), F the centred unitary FFT: samples T x coils x ny x nx, zero outside the mask.

    Attributes
    ----------
    mask : T x ny x nx booleans.
    maps : coils x ny x nx sensitivities; None: one coil of uniform sensitivity, and samples T x ny x nx.
    """

    mask: Array
    maps: Array | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """(T, ny, nx)."""
        t, ny, nx = self.mask.shape
        return t, ny, nx

    def forward(self, images: Array) -> Array:
        """A_i u_i."""
        if self.maps is None:
            return transform(images) * self.mask
        return transform(images[:, None] * self.maps) * self.mask[:, None]

    def adjoint(self, samples: Array) -> Array:
        """A_i' b_i."""
        if self.maps is None:
            return invert(samples * self.mask)
        return np.asarray((invert(samples * self.mask[:, None]) * self.maps.conj()).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Gridded:
    """``Cartesian`` for the solvers: FFTs without shifts, arrays of any library, and always T x coils x ny x nx.

    Attributes
    ----------
    mask : T x ny x nx, in the plain layout (``to_plain``).
    maps : coils x ny x nx; None: one coil of uniform sensitivity.
    """

    mask: Array
    maps: Array | None = None

    def forward(self, images: Array) -> Array:
        """A u."""
        seen = images[:, None] if self.maps is None else images[:, None] * self.maps
        return fft2(seen) * self.mask[:, None]

    def adjoint(self, samples: Array) -> Array:
        """A' b, for samples that are zero outside the mask."""
        seen = ifft2(samples)
        return seen[:, 0] if self.maps is None else (seen * self.maps.conj()).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Nufft:
    """A_i u (c, s) = sum_x maps_c(x) u(x) exp(-2 pi i k_is . (x - centre)) / sqrt(ny nx): samples T x coils x samples.

    Computed by finufft, the coils of a frame in one transform, to 1e-6 in single and 1e-10 in double precision.

    Attributes
    ----------
    trajectory : T x samples x 2 positions (along y, along x) in cycles per pixel, in [-0.5, 0.5].
    maps : coils x ny x nx; ones of shape 1 x ny x nx for a single coil.
    double : whether to compute in double precision.
    """

    trajectory: Array
    maps: Array
    double: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """(T, ny, nx)."""
        return len(self.trajectory), int(self.maps.shape[1]), int(self.maps.shape[2])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of images and samples."""
        return np.dtype(np.complex128 if self.double else np.complex64)

    def forward(self, images: Array) -> Array:
        """A_i u_i."""
        maps = np.ascontiguousarray(self.maps, dtype=self.dtype)
        out = np.empty((self.shape[0], len(maps), self.trajectory.shape[1]), self.dtype)

        def sample(plan: Any, t: int) -> None:
            out[t] = plan.execute(maps * images[t].astype(self.dtype, copy=False))

        self._each_frame(2, sample)
        return np.asarray(out * self._scale)

    def adjoint(self, samples: Array) -> Array:
        """A_i' b_i."""
        weights = self.maps.conj().astype(self.dtype, copy=False)
        out = np.empty(self.shape, self.dtype)

        def spread(plan: Any, t: int) -> None:
            grids = plan.execute(np.ascontiguousarray(samples[t], dtype=self.dtype)).reshape(weights.shape)
            out[t] = (weights * grids).sum(axis=0)

        self._each_frame(1, spread)
        return np.asarray(out * self._scale)

    @property
    def _scale(self) -> Any:
        return self.dtype.type(1 / np.sqrt(self.shape[1] * self.shape[2])).real

    def _each_frame(self, kind: int, work: Callable[[Any, int], None]) -> None:
        """Call `work` with a plan (1: the adjoint, 2: A) set to a frame's points, and the frame's number.

        Each thread takes a share of the frames, as a single frame is too small to be divided among threads.
        """
        angles = 2 * np.pi * np.moveaxis(self.trajectory, 2, 1)
        points = np.ascontiguousarray(angles, dtype=np.float64 if self.double else np.float32)
        shares = np.array_split(np.arange(len(points)), min(threads(), len(points)))
        plans = [self._plan(kind, threads() // len(shares)) for _ in shares]

        def run(plan: Any, share: Array) -> None:
            for t in share:
                plan.setpts(points[t, 0], points[t, 1])
                work(plan, t)

        with ThreadPoolExecutor(len(shares)) as pool:
            list(pool.map(run, plans, shares))

    def _plan(self, kind: int, n_threads: int) -> Any:
        try:
            import finufft
        except ImportError as error:
            raise ImportError('samples off the grid require finufft: pip install "fusewise[mri]"') from error
        accuracy = 1e-10 if self.double else 1e-6
        settings = {"eps": accuracy, "dtype": self.dtype, "nthreads": n_threads}
        return finufft.Plan(kind, self.shape[1:], n_trans=len(self.maps), isign=1 if kind == 1 else -1, **settings)


@dataclass(frozen=True, eq=False)
class FourierSums:
    """``Nufft`` by its defining sum, as matrix products, for arrays of any library.

    exp(2 pi i k . x) is a factor along y times one along x, so that the adjoint image of the samples b of a frame is
    E_y' diag(b) E_x: as many multiplications as samples times pixels, which a GPU does in less time than it takes the
    host to grid them, and exact except for rounding.

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
