"""The operations of the solves that NumPy and torch spell differently, beyond those of ``fusewise.kernels.arrays``.

The solves are written once. What both libraries name alike is called through ``library(array)``; the rest is here.
Types say NumPy's array for either.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import fft

from fusewise.kernels.arrays import library, to_host
from fusewise.kernels.devices import torch_device
from fusewise.kernels.threads import in_threads
from fusewise.mri.cholesky import inverses_in_place

Array = npt.NDArray[Any]
T = TypeVar("T")

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
        return np.asarray(fft.fft(values, length, axis, workers=threads()))
    return library(values).fft.fft(values, length, axis)  # type: ignore[no-any-return]


def cropped_ifft(values: Array, length: int, axis: int) -> Array:
    """The first `length` values of the inverse of ``padded_fft``; `values` may be overwritten."""
    if library(values) is np:
        full = np.asarray(fft.ifft(values, axis=axis, overwrite_x=True, workers=threads()))
    else:
        full = library(values).fft.ifft(values, None, axis)
    return full[..., :length] if axis == -1 else full[..., :length, :]


def zeros(shape: int | tuple[int, ...], like: Array) -> Array:
    """Of the type and in the place of `like`."""
    return np.zeros(shape, like.dtype) if library(like) is np else like.new_zeros(shape)  # type: ignore[attr-defined]


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
    """Of positive definite matrices (..., n, n), which are used up; torch does not stop to see whether they are."""
    if library(matrices) is np:
        return inverses_in_place(matrices)
    xp = library(matrices)
    factor = xp.linalg.cholesky_ex(matrices).L
    unit = xp.eye(matrices.shape[-1], dtype=factor.dtype, device=factor.device)
    root = xp.linalg.solve_triangular(factor, unit.expand(factor.shape), upper=False)
    return root.mT @ root  # type: ignore[no-any-return]


def single(values: Array) -> Array:
    """Real values in single precision."""
    return values.astype(np.float32, copy=False) if library(values) is np else values.float()  # type: ignore[attr-defined]


def double(values: Array) -> Array:
    """Real values in double precision."""
    return values.astype(np.float64, copy=False) if library(values) is np else values.double()  # type: ignore[attr-defined]


def inner(a: Array, b: Array) -> Any:
    """Re <a, b>: a number, which a device is not asked for before it is needed."""
    product = library(a).vdot(a.reshape(-1), b.reshape(-1)).real
    return float(product) if library(a) is np else product


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


def each(work: Callable[[T], None], items: Sequence[T], like: Array) -> None:
    """Call `work` for each item: on the host a thread for each core, and products without threads of their own."""
    for _ in in_threads(work, items) if library(like) is np else map(work, items):
        pass
