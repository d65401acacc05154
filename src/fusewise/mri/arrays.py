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

from fusewise.kernels.arrays import library
from fusewise.kernels.devices import torch_device

Array = npt.NDArray[Any]

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
        library(matrices).diagonal(matrices, dim1=-2, dim2=-1).add_(value)


def inner(a: Array, b: Array) -> float:
    """Re <a, b>."""
    return float(library(a).vdot(a.reshape(-1), b.reshape(-1)).real)


def energy(values: Array) -> float:
    """||a||², summed in double precision."""
    xp = library(values)
    return float(xp.square(abs(values)).sum(dtype=xp.float64))


def median(values: Array) -> float:
    """The middle value, or the mean of the two in the middle (torch's own takes the lower)."""
    if library(values) is np:
        return float(np.median(values))
    ordered = library(values).sort(values.ravel()).values
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
