"""Golden-angle radial lines with navigators, on or off the grid, and noise."""

from __future__ import annotations

import numpy as np

from fusewise.mri._fourier import transform
from fusewise.mri._tensors import Array

#: 180 degrees over the golden ratio: any number of successive lines covers the circle evenly.
GOLDEN_ANGLE = np.pi * (np.sqrt(5) - 1) / 2


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
