"""The same arithmetic with NumPy or with torch: where arrays lie, and the few operations the two spell differently.

The solves are written once. What both libraries name alike is called through ``namespace(array)``; the rest is here.
Types say NumPy's array for either.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import fft

Array = npt.NDArray[Any]

#: Host array to array on the device.
Placement = Callable[[Array], Array]


def placement(device: str) -> Placement:
    """Where the solves shall run.

    Parameters
    ----------
    device : "cpu": NumPy. "cuda", "cuda:1", ...: torch on a GPU. "auto": the GPU if torch sees one, else NumPy.
        "torch": torch on the CPU, to check one library by the other.
    """
    if device == "cpu":
        return np.asarray
    if device == "auto":
        return placement("cuda" if _sees_gpu() else "cpu")
    if device != "torch" and device.partition(":")[0] != "cuda":
        raise ValueError(f"device={device!r}: use 'cpu', 'cuda', 'auto' or 'torch'")
    try:
        import torch
    except ImportError as error:
        raise ImportError(f'device={device!r} needs torch: pip install "fusewise[gpu]"') from error
    if device != "torch" and not torch.cuda.is_available():
        raise ValueError(f"device={device!r}: torch sees no GPU here")
    where = torch.device("cpu" if device == "torch" else device)

    def placed(array: Array) -> Any:
        return torch.as_tensor(np.ascontiguousarray(array), device=where)

    return placed


def beside(array: Array, other: Array) -> Array:
    """A host array, brought to where another array lies."""
    if namespace(other) is np:
        return array
    tensor: Any = other
    return namespace(other).as_tensor(np.ascontiguousarray(array), device=tensor.device)  # type: ignore[no-any-return]


def on_host(array: Array) -> Array:
    """Any array as NumPy's."""
    tensor: Any = array
    return array if isinstance(array, np.ndarray) else np.asarray(tensor.cpu().numpy())


def namespace(array: Array) -> Any:
    """The library an array belongs to: ``numpy`` or ``torch``."""
    return np if isinstance(array, np.ndarray | np.generic) else sys.modules["torch"]


def threads() -> int:
    """Cores the transforms may use: those OpenMP may, so that one variable limits both."""
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    return int(allowed) if allowed.isdigit() and int(allowed) > 0 else os.cpu_count() or 1


def fft2(images: Array) -> Array:
    """Unitary FFT over the last two axes."""
    if namespace(images) is np:
        return np.asarray(fft.fft2(images, norm="ortho", workers=threads()))
    return namespace(images).fft.fft2(images, norm="ortho")  # type: ignore[no-any-return]


def ifft2(kspace: Array) -> Array:
    """The inverse, and the adjoint, of ``fft2``."""
    if namespace(kspace) is np:
        return np.asarray(fft.ifft2(kspace, norm="ortho", workers=threads()))
    return namespace(kspace).fft.ifft2(kspace, norm="ortho")  # type: ignore[no-any-return]


def as_real(values: Array) -> Array:
    """Complex (..., n) as real (..., 2 n), parts side by side; real values as they are."""
    if namespace(values) is np:
        return np.ascontiguousarray(values).view(values.real.dtype)
    tensor: Any = values
    return namespace(values).view_as_real(tensor).flatten(-2) if tensor.is_complex() else values


def as_complex(pairs: Array) -> Array:
    """The inverse of ``as_real`` on complex values."""
    if namespace(pairs) is np:
        return pairs.view(np.result_type(pairs.dtype, np.complex64))
    tensor: Any = pairs
    return namespace(pairs).view_as_complex(tensor.unflatten(-1, (-1, 2)))  # type: ignore[no-any-return]


def real_times(matrix: Array, vectors: Array) -> Array:
    """A real matrix (..., m, n) times complex vectors (..., n, k), without making the matrix complex."""
    return as_complex(matrix @ as_real(vectors))


def add_to_diagonals(matrices: Array, value: float) -> None:
    """A + value I for (..., n, n) matrices, in place."""
    if namespace(matrices) is np:
        np.einsum("...ii->...i", matrices)[...] += value
    else:
        namespace(matrices).diagonal(matrices, dim1=-2, dim2=-1).add_(value)


def inner(a: Array, b: Array) -> float:
    """Re <a, b>."""
    return float(namespace(a).vdot(a.reshape(-1), b.reshape(-1)).real)


def energy(values: Array) -> float:
    """||a||², summed in double precision."""
    xp = namespace(values)
    return float(xp.square(abs(values)).sum(dtype=xp.float64))


def median(values: Array) -> float:
    """The middle value, or the mean of the two in the middle (torch's own takes the lower)."""
    if namespace(values) is np:
        return float(np.median(values))
    ordered = namespace(values).sort(values.ravel()).values
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def _sees_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())
