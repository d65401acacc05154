"""The operations of the solves that NumPy and torch spell differently, beyond those of ``fusewise.kernels.arrays``.

The solves are written once. What both libraries name alike is called through ``library(array)``; the rest is here.
Types say NumPy's array for either.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import fft

from fusewise.kernels.arrays import library, to_host
from fusewise.kernels.devices import torch_device

Array = npt.NDArray[Any]

#: Numbers worked on at once: about what a core's cache holds, and enough for a GPU (a quarter of a gigabyte).
CPU_ENTRIES, TORCH_ENTRIES = 2**19, 2**25

#: Host array to array on the device.
Placement = Callable[[Array], Array]


def placement(device: str) -> Placement:
    """Where the solves shall run.

    Parameters
    ----------
    device : as everywhere (``torch_device``).
    """
    where = torch_device(device)
    if where is None:
        return np.asarray
    import torch

    def placed(array: Array) -> Any:
        return torch.as_tensor(np.ascontiguousarray(array), device=where)

    return placed


def threads() -> int:
    """Cores the transforms may use: those OpenMP may, so that one variable limits both."""
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return int(allowed) if allowed.isdigit() and int(allowed) > 0 else os.cpu_count() or 1


def fft2(images: Array) -> Array:
    """Unitary FFT over the last two axes."""
    if library(images) is np:
        return np.asarray(fft.fft2(images, norm="ortho", workers=threads()))
    return library(images).fft.fft2(images, norm="ortho")  # type: ignore[no-any-return]


def ifft2(kspace: Array) -> Array:
    """The inverse, and the adjoint, of ``fft2``."""
    if library(kspace) is np:
        return np.asarray(fft.ifft2(kspace, norm="ortho", workers=threads()))
    return library(kspace).fft.ifft2(kspace, norm="ortho")  # type: ignore[no-any-return]


def padded_fft(values: Array, length: int, axis: int) -> Array:
    """FFT along one axis, filled up with zeros to a length; not normalised."""
    if library(values) is np:
        return np.asarray(fft.fft(values, length, axis, workers=threads()))
    return library(values).fft.fft(values, length, axis)  # type: ignore[no-any-return]


def cropped_ifft(values: Array, length: int, axis: int) -> Array:
    """The first `length` values of the inverse of ``padded_fft``; `values` may be overwritten."""
    if library(values) is np:
        full = np.asarray(fft.ifft(values, axis=axis, overwrite_x=True, workers=threads()))
    else:
        full = library(values).fft.ifft(values, None, axis)
    return full[..., :length] if axis == -1 else full[..., :length, :]


def as_real(values: Array) -> Array:
    """Complex (..., n) as real (..., 2 n), parts side by side; real values as they are."""
    if library(values) is np:
        return np.ascontiguousarray(values).view(values.real.dtype)
    tensor: Any = values
    return library(values).view_as_real(tensor).flatten(-2) if tensor.is_complex() else values


def as_complex(pairs: Array) -> Array:
    """The inverse of ``as_real`` on complex values."""
    if library(pairs) is np:
        return pairs.view(np.result_type(pairs.dtype, np.complex64))
    tensor: Any = pairs
    return library(pairs).view_as_complex(tensor.unflatten(-1, (-1, 2)))  # type: ignore[no-any-return]


def real_times(matrix: Array, vectors: Array) -> Array:
    """A real matrix (..., m, n) times complex vectors (..., n, k), without making the matrix complex."""
    return as_complex(matrix @ as_real(vectors))


def add_to_diagonals(matrices: Array, value: float) -> None:
    """A + value I for (..., n, n) matrices, in place."""
    if library(matrices) is np:
        np.einsum("...ii->...i", matrices)[...] += value
    else:
        library(matrices).diagonal(matrices, 0, -2, -1).add_(value)


def inverse(matrices: Array) -> Array:
    """Of regular matrices (..., n, n); torch does not stop to see whether they are."""
    if library(matrices) is np:
        return np.asarray(np.linalg.inv(matrices))
    return library(matrices).linalg.inv_ex(matrices).inverse  # type: ignore[no-any-return]


def inner(a: Array, b: Array) -> float:
    """Re <a, b>."""
    return float(library(a).vdot(a.reshape(-1), b.reshape(-1)).real)


def energy(values: Array) -> float:
    """||a||², summed in double precision."""
    xp = library(values)
    return float(xp.square(abs(values)).sum(dtype=xp.float64))


def medians(values: Array) -> npt.NDArray[np.float64]:
    """Of each row: the middle value, or the mean of the two in the middle (torch's own takes the lower)."""
    if library(values) is np:
        return np.asarray(np.median(values, axis=-1), dtype=float)
    count = values.shape[-1]
    ordered = library(values).sort(values, -1).values
    return to_host((ordered[..., (count - 1) // 2] + ordered[..., count // 2]) / 2).astype(float)


def batches(count: int, entries: int, like: Array) -> list[slice]:
    """Slices of `count` things of `entries` numbers each: what a core's cache holds, or what keeps a GPU busy."""
    room = CPU_ENTRIES if library(like) is np else TORCH_ENTRIES
    size = max(1, room // max(1, entries))
    return [slice(start, start + size) for start in range(0, count, size)]
