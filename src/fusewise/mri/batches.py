"""Fourier transforms of images where they lie: NumPy's arrays on the host, torch's tensors on a device.

What both libraries name alike is called through ``library(array)``, what else they spell differently is in
``fusewise.kernels.arrays``. Types say NumPy's array for either.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import fft

from fusewise.kernels.arrays import batches, each, library

Array = npt.NDArray[Any]


def threads() -> int:
    """Cores the transforms may use: those OpenMP may, so that one variable limits both."""
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return int(allowed) if allowed.isdigit() and int(allowed) > 0 else os.cpu_count() or 1


def fft2(images: Array, overwrite: bool = False) -> Array:
    """Unitary FFT over the last two axes; `overwrite`: in place where that spares a new array."""
    if library(images) is np:
        return _by_frames(fft.fft2, images, overwrite)
    return library(images).fft.fft2(images, norm="ortho")  # type: ignore[no-any-return]


def ifft2(kspace: Array, overwrite: bool = False) -> Array:
    """The inverse, and the adjoint, of ``fft2``."""
    if library(kspace) is np:
        return _by_frames(fft.ifft2, kspace, overwrite)
    return library(kspace).fft.ifft2(kspace, norm="ortho")  # type: ignore[no-any-return]


def _by_frames(transform: Callable[..., Array], values: Array, overwrite: bool) -> Array:
    """A transform of as many frames at once as a core's cache holds: both of its axes are then done there."""
    frames = values.reshape(-1, *values.shape[-2:])
    out = frames if overwrite else np.empty(frames.shape, np.result_type(values.dtype, np.complex64))

    def change(some: slice) -> None:
        out[some] = transform(frames[some], norm="ortho", overwrite_x=overwrite)

    each(change, batches(len(frames), 8 * frames[0].size, values), values)
    return out.reshape(values.shape)


def padded_fft(values: Array, length: int, axis: int) -> Array:
    """FFT along one axis, filled up with zeros to a length; not normalised."""
    if library(values) is np:
        return np.asarray(fft.fft(values, length, axis))
    return library(values).fft.fft(values, length, axis)  # type: ignore[no-any-return]


def cropped_ifft(values: Array, length: int, axis: int) -> Array:
    """The first `length` values of the inverse of ``padded_fft``; `values` may be overwritten."""
    if library(values) is np:
        full = np.asarray(fft.ifft(values, axis=axis, overwrite_x=True))
    else:
        full = library(values).fft.ifft(values, None, axis)
    return full[..., :length] if axis == -1 else full[..., :length, :]
