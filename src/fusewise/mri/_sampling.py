"""Sampling of frames: Fourier transforms, patterns, operators on the grid and off it, and the maps of the coils.

An operator A_i takes images (T x ny x nx) to samples, all frames at once: ``forward`` (A u) and ``adjoint`` (A' b) are
exact adjoints of each other, and A' A has a norm of about 1 per unit of sampling density.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import fft

from fusewise.kernels import beside, library
from fusewise.mri._tensors import Array, batches, cast, fft2, ifft2, zeros

#: The image axes, always the last two.
AXES = (-2, -1)

#: 180 degrees over the golden ratio: any number of successive lines covers the circle evenly.
GOLDEN_ANGLE = np.pi * (np.sqrt(5) - 1) / 2

#: Side, in samples, of the central k-space region from which sigpy calibrates.
CALIBRATION = 24


def transform(images: Array) -> Array:
    """k(f) = sum_x u(x) exp(-2 pi i f (x - c) / n) / n, c the central pixel, frequency 0 in the middle: unitary."""
    return np.asarray(fft.fftshift(fft2(fft.ifftshift(images, axes=AXES)), axes=AXES))


def invert(kspace: Array) -> Array:
    """Images of gridded `kspace` (... x ny x nx, the centre in the middle), by the orthonormal FFT."""
    return np.asarray(fft.fftshift(ifft2(fft.ifftshift(kspace, axes=AXES)), axes=AXES))


def to_plain(kspace: Array) -> Array:
    """Convert to the k-space that the bare FFT gives for the same images, so that iterations need no shifts.

    Moving frequency 0 to the corner reorders the samples; moving the origin from the central pixel to the corner
    multiplies each of them by a phase. Both are unitary and the same for all frames, so distances are unchanged.
    """
    shifts = fft if library(kspace) is np else library(kspace).fft
    ny, nx = kspace.shape[-2:]
    turns = np.add.outer(fft.fftfreq(ny) * (ny // 2), fft.fftfreq(nx) * (nx // 2))
    phases: Array = cast(beside(np.exp(-2j * np.pi * turns), kspace), kspace)
    return shifts.ifftshift(kspace, AXES) * phases  # type: ignore[no-any-return]


def radii(shape: tuple[int, int]) -> Array:
    """Distance of each k-space location from the centre, which is in the middle; 1 at the nearest edge."""
    y, x = np.ogrid[: shape[0], : shape[1]]
    return np.asarray(np.hypot(y - shape[0] // 2, x - shape[1] // 2) / (min(shape) / 2))


def line_angles(n_frames: int, golden: int, navigators: int = 0, offset: float = 0.0) -> Array:
    """T x lines angles: `navigators` fixed, evenly spaced ones, then `golden` ones that go on from frame to frame."""
    fixed = np.arange(navigators) * (np.pi / max(navigators, 1))
    turning = offset + GOLDEN_ANGLE * np.arange(n_frames * golden).reshape(n_frames, golden)
    return np.concatenate([np.broadcast_to(fixed, (n_frames, navigators)), turning], axis=1)


def radial_mask(
    n_frames: int, shape: tuple[int, int], golden: int = 6, navigators: int = 4, *, offset: float = 0.0
) -> Array:
    """Lines through the centre of k-space, rounded to the nearest grid points: T x ny x nx, the centre in the middle.

    Parameters
    ----------
    n_frames, shape : T and (ny, nx).
    golden, navigators : lines of each kind in every frame.
    offset : angle of the first golden-angle line, in radians; another offset gives another sampling pattern.
    """
    ny, nx = shape
    # Half-sample steps leave no gap on a diagonal.
    along = np.linspace(-0.5, 0.5, 2 * max(shape), endpoint=False)
    angles = line_angles(n_frames, golden, navigators, offset)[:, :, None]
    rows = np.rint(ny // 2 + ny * along * np.sin(angles)).astype(int)
    columns = np.rint(nx // 2 + nx * along * np.cos(angles)).astype(int)
    inside = (rows >= 0) & (rows < ny) & (columns >= 0) & (columns < nx)
    frames = np.broadcast_to(np.arange(n_frames)[:, None, None], rows.shape)
    mask = np.zeros((n_frames, ny, nx), dtype=bool)
    mask[frames[inside], rows[inside], columns[inside]] = True
    return mask


def radial_trajectory(
    n_frames: int, readout: int, golden: int = 6, navigators: int = 4, *, offset: float = 0.0
) -> Array:
    """T x (lines * readout) x 2 positions (along y, along x) in cycles per pixel, in [-0.5, 0.5), line by line.

    T is `n_frames`, each line has `readout` positions; `golden`, `navigators` and `offset` as in `radial_mask`.
    """
    along = (np.arange(readout) - readout // 2) / readout
    angles = line_angles(n_frames, golden, navigators, offset)
    positions = along[:, None] * np.stack([np.sin(angles), np.cos(angles)], axis=-1)[:, :, None, :]
    return np.asarray(positions.reshape(n_frames, -1, 2))


def sample_grid(images: Array, mask: Array, *, noise: float = 0.0, random_state: int | None = 0) -> Array:
    """k-space of images where the mask is True, zero elsewhere (single precision).

    `noise` is the standard deviation of the complex noise of a sample, in units of the largest magnitude in the images:
    as the FFT is unitary, also that of a fully sampled pixel. `random_state` is its seed.
    """
    kspace = transform(images.astype(np.complex64))
    if noise:
        kspace = kspace + complex_noise(kspace.shape, noise * float(np.abs(images).max()), random_state)
    return np.where(mask, kspace, 0).astype(np.complex64)


def complex_noise(shape: tuple[int, ...], deviation: float, random_state: int | None) -> Array:
    """Circular complex Gaussian noise with E|n|² = deviation²."""
    rng = np.random.default_rng(random_state)
    parts = rng.standard_normal((2, *shape), dtype=np.float32)
    return np.asarray((parts[0] + 1j * parts[1]) * (deviation / np.sqrt(2)), dtype=np.complex64)


@dataclass(frozen=True, eq=False)
class Gridded:
    """A_i u = mask_i * F(maps * u), F the bare unitary FFT: samples T x coils x ny x nx, zero outside it."""

    mask: Array  # T x ny x nx, in the layout of ``to_plain``
    maps: Array | None = None  # coils x ny x nx; None: one coil of uniform sensitivity

    def forward(self, images: Array) -> Array:
        seen = images[:, None] if self.maps is None else images[:, None] * self.maps
        return fft2(seen) * self.mask[:, None]

    def adjoint(self, samples: Array) -> Array:
        seen = ifft2(samples)
        return seen[:, 0] if self.maps is None else (seen * self.maps.conj()).sum(axis=1)


@dataclass(frozen=True, eq=False)
class FourierSums:
    """A_i u (c, s) = sum_x maps_c(x) u(x) exp(-2 pi i k_is . (x - centre)) / sqrt(ny nx): T x coils x samples.

    exp(2 pi i k . x) is a factor along y times one along x, so that the adjoint image of the samples b of a frame is
    E_y' diag(b) E_x. A solve needs a few of these products and hundreds of FFTs, so that no approximation of them
    (a non-uniform FFT) would make it much faster.
    """

    trajectory: Array  # T x samples x 2 (along y, along x), cycles per pixel, in double precision
    maps: Array  # coils x ny x nx on the same device; ones of 1 x ny x nx for one coil of uniform sensitivity

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.trajectory), int(self.maps.shape[1]), int(self.maps.shape[2])

    def forward(self, images: Array) -> Array:

        def sample(some: slice, along_y: Array, along_x: Array) -> Any:
            rows = along_x.conj() @ (images[some][:, None] * self.maps).swapaxes(2, 3)
            return (rows * along_y.conj()).sum(axis=3)

        return self._by_frames(sample)

    def adjoint(self, samples: Array) -> Array:

        def spread(some: slice, along_y: Array, along_x: Array) -> Any:
            seen = (along_y * samples[some][..., None]).swapaxes(2, 3) @ along_x
            return (seen * self.maps.conj()).sum(axis=1)

        return self._by_frames(spread)

    def _by_frames(self, work: Callable[[slice, Array, Array], Any]) -> Array:
        """Some frames at a time, with their waves exp(2 pi i k (x - centre)): frames x 1 x samples x ny, and x nx."""
        frames, ny, nx = self.shape
        xp, parts = library(self.maps), []
        pixels = [beside(np.arange(length) - length // 2.0, self.trajectory) for length in (ny, nx)]
        for some in batches(frames, len(self.maps) * self.trajectory.shape[1] * max(ny, nx), self.maps):
            waves = []
            for axis, places in enumerate(pixels):
                turns = self.trajectory[some][:, None, :, axis, None] * places
                angles = cast(2 * np.pi * (turns - xp.round(turns)), self.maps.real)  # small, so that rounding is, too
                wave = zeros(tuple(angles.shape), self.maps)
                wave.real[...], wave.imag[...] = xp.cos(angles), xp.sin(angles)
                waves.append(wave)
            parts.append(work(some, *waves))
        found: Array = xp.concatenate(parts)
        found *= 1 / np.sqrt(ny * nx)
        return found


@dataclass(frozen=True, eq=False)
class GridCells:
    """Samples T x S off the grid, assigned to the nearest cells of a ny x nx grid (layout of ``to_plain``).

    If a frame has several samples in one cell (radial lines near the centre), they share the weight of one.
    """

    shape: tuple[int, int, int]  # T, ny, nx
    index: Array  # T x S, the cell of each sample among the ny nx of its frame
    weights: Array  # T x S, 1 / number of samples of the frame in that cell; 0 for samples that are not used

    @classmethod
    def of(cls, trajectory: Array, shape: tuple[int, int]) -> GridCells:
        """Assign positions T x S x 2 in cycles per pixel."""
        nearest = np.rint(trajectory * np.array(shape)).astype(int) % shape
        index = nearest[..., 0] * shape[1] + nearest[..., 1]
        cells = cls((len(trajectory), *shape), index, np.ones(index.shape))
        return cells.using(np.ones(index.shape, dtype=bool))

    def using(self, used: Array) -> GridCells:
        """Return the same cells with only the samples that are `used` (T x S booleans)."""
        cells = self.shape[1] * self.shape[2]
        pairs = zip(self.index, used, strict=True)
        counts = np.stack([np.bincount(index[here], minlength=cells)[index] for index, here in pairs])
        return GridCells(self.shape, self.index, (used / np.maximum(counts, 1)).astype(np.float32))

    @cached_property
    def mask(self) -> Array:
        """T x ny x nx: cells with a used sample."""
        seen = np.zeros((self.shape[0], self.shape[1] * self.shape[2]), dtype=bool)
        frames, samples = np.nonzero(self.weights)
        seen[frames, self.index[frames, samples]] = True
        return seen.reshape(self.shape)

    def means(self, samples: Array) -> Array:
        """Mean sample of each cell of one coil (T x S, on any device), T x ny x nx, zero where there is none."""
        frames, ny, nx = self.shape
        places = beside((self.index + ny * nx * np.arange(frames)[:, None]).ravel(), samples)
        parts = (samples * beside(self.weights, samples)).reshape(-1)
        if library(samples) is np:
            real, imaginary = (np.bincount(places, part, frames * ny * nx) for part in (parts.real, parts.imag))
            return (real + 1j * imaginary).astype(samples.dtype).reshape(self.shape)
        sums: Array = parts.new_zeros(frames * ny * nx).index_add_(0, places, parts)
        return sums.reshape(self.shape)


def sensitivity_maps(kspace: Array, trajectory: Array) -> Array:
    """Sensitivities, coils x ny x nx, from the density-compensated adjoint of all samples (T x coils x samples)."""
    shape = guess_shape(trajectory)
    ramp = np.maximum(np.hypot(trajectory[..., 0], trajectory[..., 1]), 0.25 / max(shape))[:, None]
    sums = FourierSums(trajectory, np.ones((1, *shape), np.complex64))
    weighted = (kspace * (ramp / ramp.mean())).astype(np.complex64)
    images = [sums.adjoint(coil[:, None]).mean(axis=0) for coil in weighted.swapaxes(0, 1)]
    return maps_from_images(np.stack(images))


def guess_shape(trajectory: Array) -> tuple[int, int]:
    """Guess a square shape of side 1 / (spacing of successive samples of the first frame), rounded to even."""
    steps = np.hypot(*np.diff(trajectory[0], axis=0).T)
    side = max(2, 2 * round(0.5 / float(np.median(steps[steps > 1e-9]))))
    return side, side


def maps_from_images(coil_images: Array) -> Array:
    """Sensitivities of coils x ny x nx images by ESPIRiT; their sum of squares is 1 where there is signal."""
    if len(coil_images) == 1:
        return np.ones(coil_images.shape, np.complex64)
    try:
        from sigpy.mri import app
    except ImportError as error:
        raise ImportError('maps of the coils require sigpy: pip install "fusewise[mri]"') from error
    kspace = transform(coil_images).astype(np.complex64)
    maps = app.EspiritCalib(kspace, calib_width=CALIBRATION, show_pbar=False, crop=0.0).run()
    total = np.sqrt(np.square(np.abs(maps)).sum(axis=0))
    return np.asarray(maps / np.maximum(total, 1e-3 * float(total.max())), dtype=np.complex64)


def compress_coils(kspace: Array, n_coils: int) -> tuple[Array, Array]:
    """Compress to the `n_coils` combinations of coils with the most energy (Buehrer et al. 2007).

    Parameters
    ----------
    kspace : T x coils x ...
    n_coils : number of combinations.

    Returns
    -------
    compressed : T x n_coils x ...
    weights : n_coils x coils with orthonormal rows; maps of the new coils are ``np.tensordot(weights, maps, 1)``.
    """
    rows = np.moveaxis(kspace, 1, 0).reshape(kspace.shape[1], -1)
    _, vectors = np.linalg.eigh(rows @ rows.conj().T)
    weights = vectors[:, ::-1][:, :n_coils].conj().T.astype(kspace.dtype)
    return np.moveaxis(np.tensordot(weights, kspace, (1, 1)), 0, 1), weights
