"""The centred, orthonormal Fourier transform of images, and k-space in the layout of the FFT."""

from __future__ import annotations

import numpy as np
from scipy import fft

from fusewise.kernels import beside, library
from fusewise.mri._tensors import Array, cast, fft2, ifft2

#: The image axes, always the last two.
AXES = (-2, -1)


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
    return turned(shifts.ifftshift(kspace, AXES))


def turned(kspace: Array) -> Array:
    """Apply the second half of ``to_plain``, the phases, to k-space with frequency 0 in the corner."""
    ny, nx = kspace.shape[-2:]
    turns = np.add.outer(fft.fftfreq(ny) * (ny // 2), fft.fftfreq(nx) * (nx // 2))
    phases: Array = cast(beside(np.exp(-2j * np.pi * turns), kspace), kspace)
    return kspace * phases


def radii(shape: tuple[int, int]) -> Array:
    """Distance of each k-space location from the centre, which is in the middle; 1 at the nearest edge."""
    y, x = np.ogrid[: shape[0], : shape[1]]
    return np.asarray(np.hypot(y - shape[0] // 2, x - shape[1] // 2) / (min(shape) / 2))
