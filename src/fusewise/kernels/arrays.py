"""The operations that NumPy arrays and torch tensors do not share a spelling for: what uses them is written once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from fusewise.kernels.cholesky import inverses_in_place
from fusewise.kernels.threads import WORTH_THREADS, in_threads

#: A NumPy array, or a torch tensor wherever it lives.
Array = Any
T = TypeVar("T")

#: Numbers worked on at once: about what a core's cache holds, and enough for a GPU (a quarter of a gigabyte).
CPU_ENTRIES, TORCH_ENTRIES = 2**19, 2**25

#: Multiplications for each number of an array that ``each`` takes for granted: products and transforms do as many.
PER_ENTRY = 32


def library(x: Array) -> Any:
    """The module whose functions act on x: numpy, or torch. Both have exp, sqrt, where, clip, square, arange."""
    if isinstance(x, np.ndarray | np.generic):
        return np
    import torch

    return torch


def total(x: Array) -> float:
    """The sum of all entries, in double precision."""
    return float(x.sum(dtype=library(x).float64))


def norm(x: Array) -> float:
    """Euclidean length of all entries taken together."""
    return float(library(x).linalg.norm(x.reshape(-1)))


def rounding_unit(x: Array) -> float:
    """Relative spacing of the numbers of x's precision."""
    return float(library(x).finfo(x.dtype).eps)


def to_host(x: Array) -> npt.NDArray[Any]:
    """As a NumPy array, copied from the device where need be."""
    return x if isinstance(x, np.ndarray) else np.asarray(x.detach().cpu().numpy())


def beside(x: npt.NDArray[Any], other: Array) -> Array:
    """A NumPy array brought to where `other` lives."""
    if isinstance(other, np.ndarray):
        return x
    return library(other).from_numpy(np.ascontiguousarray(x)).to(other.device)


def zeros(shape: int | tuple[int, ...], like: Array) -> Array:
    """Of the type and in the place of `like`."""
    return np.zeros(shape, like.dtype) if library(like) is np else like.new_zeros(shape)


def copied(values: Array) -> Array:
    """A copy, in the same place."""
    return values.copy() if library(values) is np else values.clone()


def cast(values: Array, like: Array) -> Array:
    """Of the type of `like`."""
    return values.astype(like.dtype, copy=False) if library(values) is np else values.to(like.dtype)


def as_real(values: Array) -> Array:
    """Complex (..., n) as real (..., 2 n), parts side by side; real values as they are."""
    if library(values) is np:
        return np.ascontiguousarray(values).view(values.real.dtype)
    return library(values).view_as_real(values).flatten(-2) if values.is_complex() else values


def as_complex(pairs: Array) -> Array:
    """The inverse of ``as_real`` on complex values."""
    if library(pairs) is np:
        return pairs.view(np.result_type(pairs.dtype, np.complex64))
    return library(pairs).view_as_complex(pairs.unflatten(-1, (-1, 2)))


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
    return root.mT @ root


def single(values: Array) -> Array:
    """Real values in single precision."""
    return values.astype(np.float32, copy=False) if library(values) is np else values.float()


def double(values: Array) -> Array:
    """Real values in double precision."""
    return values.astype(np.float64, copy=False) if library(values) is np else values.double()


def inner(a: Array, b: Array) -> Any:
    """Re <a, b>: a number, which a device is not asked for before it is needed."""
    product = library(a).vdot(a.reshape(-1), b.reshape(-1)).real
    return float(product) if library(a) is np else product


def energy(values: Array) -> float:
    """||a||², summed in double precision."""
    xp = library(values)
    return float(xp.square(abs(values)).sum(dtype=xp.float64))


def sums_at(places: Array, values: Array, size: int) -> Array:
    """The sum of the values (a vector) that share each of `size` places."""
    if library(values) is np:
        sums = np.bincount(places, values.real, size)
        if np.iscomplexobj(values):
            sums = sums + 1j * np.bincount(places, values.imag, size)
        return sums.astype(values.dtype)
    return values.new_zeros(size).index_add_(0, places, values)


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
    """Call `work` for each item: on the host a thread for each core, and products without threads of their own.

    Only where an array such as `like` is long enough to be worth threads.
    """
    threaded = library(like) is np and PER_ENTRY * like.size > WORTH_THREADS
    for _ in in_threads(work, items) if threaded else map(work, items):
        pass
