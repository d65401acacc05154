"""Array operations of MRI, written once for arrays on the host (NumPy) and tensors on a device (torch).

Functions with the same name in both libraries are called through ``library(array)``. Type hints use NumPy's array for
both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import fft

from fusewise.kernels import Array as Tensor
from fusewise.kernels import in_threads, library, threads_for

Array = npt.NDArray[Any]
T = TypeVar("T")

#: Numbers processed at a time: about the cache of a core, and enough for a GPU (a quarter of a gigabyte).
CPU_ENTRIES, TORCH_ENTRIES = 2**19, 2**25

#: Multiplications per number of an array that ``each`` assumes, as products and transforms need.
PER_ENTRY = 32


def zeros(shape: int | tuple[int, ...], like: Tensor) -> Tensor:
    """Zeros of the type and on the device of `like`."""
    return np.zeros(shape, like.dtype) if library(like) is np else like.new_zeros(shape)


def cast(values: Tensor, like: Tensor) -> Tensor:
    """Convert to the type of `like`."""
    return values.astype(like.dtype, copy=False) if library(values) is np else values.to(like.dtype)


def single(values: Tensor) -> Tensor:
    return values.astype(np.float32, copy=False) if library(values) is np else values.float()


def double(values: Tensor) -> Tensor:
    return values.astype(np.float64, copy=False) if library(values) is np else values.double()


def as_real(values: Tensor) -> Tensor:
    """View complex (..., n) as real (..., 2 n), parts side by side; real values are returned unchanged."""
    if library(values) is np:
        return np.ascontiguousarray(values).view(values.real.dtype)
    return library(values).view_as_real(values).flatten(-2) if values.is_complex() else values


def real_times(matrix: Tensor, vectors: Tensor) -> Tensor:
    """Multiply a real matrix (..., m, n) by complex vectors (..., n, k), without making the matrix complex."""
    if library(matrix) is np:
        pairs = matrix @ as_real(vectors)
        return pairs.view(np.result_type(pairs.dtype, np.complex64))
    pairs = matrix @ cast(as_real(vectors), matrix)
    return library(pairs).view_as_complex(pairs.unflatten(-1, (-1, 2)))


def add_to_diagonals(matrices: Tensor, value: float) -> None:
    """A + value I for (..., n, n) matrices, in place."""
    if library(matrices) is np:
        np.einsum("...ii->...i", matrices)[...] += value
    else:
        library(matrices).diagonal(matrices, 0, -2, -1).add_(value)


def inverse(matrices: Tensor) -> Tensor:
    """Invert positive definite matrices (..., n, n), perhaps overwriting them."""
    if library(matrices) is np:
        return np.linalg.inv(matrices)
    xp = library(matrices)
    factor = xp.linalg.cholesky_ex(matrices).L
    unit = xp.eye(matrices.shape[-1], dtype=factor.dtype, device=factor.device)
    root = xp.linalg.solve_triangular(factor, unit.expand(factor.shape), upper=False)
    return root.mT @ root


def inner(a: Tensor, b: Tensor) -> Any:
    """Re <a, b>: a scalar that stays on its device until it is needed."""
    product = library(a).vdot(a.reshape(-1), b.reshape(-1)).real
    return float(product) if library(a) is np else product


def energy(values: Tensor) -> float:
    """||a||², summed in double precision."""
    xp = library(values)
    return float(xp.square(abs(values)).sum(dtype=xp.float64))


def gram(rows: Tensor) -> Tensor:
    """Re <u_i, u_j> of centred rows."""
    rows = rows.reshape(len(rows), -1)
    real: Tensor = as_real(rows - rows.mean(axis=0))
    return real @ real.T


def batches(count: int, entries: int, like: Tensor) -> list[slice]:
    """Slices of `count` items of `entries` numbers each: as many as fit in a core's cache, or keep a GPU busy."""
    room = CPU_ENTRIES if library(like) is np else TORCH_ENTRIES
    size = max(1, room // max(1, entries))
    return [slice(start, start + size) for start in range(0, count, size)]


def each(work: Callable[[T], None], items: Sequence[T], like: Tensor) -> None:
    """Call `work` for each item; on the host in a thread for each core, if an array such as `like` is large enough."""
    threads = threads_for(PER_ENTRY * like.size) if library(like) is np else 1
    for _ in in_threads(work, items, threads):
        pass


def fft2(images: Array, overwrite: bool = False) -> Array:
    """Unitary FFT over the last two axes; `overwrite`: in place if that avoids a new array."""
    return _transformed("fft2", images, overwrite)


def ifft2(kspace: Array, overwrite: bool = False) -> Array:
    """The inverse, and the adjoint, of ``fft2``."""
    return _transformed("ifft2", kspace, overwrite)


def _transformed(name: str, values: Array, overwrite: bool) -> Array:
    """On the host as many frames at a time as fit in a core's cache, so that both axes are transformed there."""
    if library(values) is not np:
        return getattr(library(values).fft, name)(values, norm="ortho")  # type: ignore[no-any-return]
    frames, transform = values.reshape(-1, *values.shape[-2:]), getattr(fft, name)
    out = frames if overwrite else np.empty(frames.shape, np.result_type(values.dtype, np.complex64))

    def change(some: slice) -> None:
        out[some] = transform(frames[some], norm="ortho", overwrite_x=overwrite)

    each(change, batches(len(frames), 8 * frames[0].size, values), values)
    return out.reshape(values.shape)
