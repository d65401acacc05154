"""Operations that NumPy arrays and torch tensors spell differently, so that code for both is written once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

#: A NumPy array, or a torch tensor on any device.
Array = Any


def library(x: Array) -> Any:
    """The module whose functions act on x: numpy, or torch. Both have exp, sqrt, where, clip, square, arange."""
    if isinstance(x, np.ndarray | np.generic):
        return np
    import torch

    return torch


def total(x: Array) -> float:
    """The sum of all entries, in double precision."""
    return float(x.sum(dtype=library(x).float64))


def inner_product(x: Array, y: Array) -> Array:
    """Real inner product of all entries; a number of the library of x, so that a device need not be waited for."""
    if isinstance(x, np.ndarray):
        return (x.conj() * y).real.sum()
    return library(x).vdot(x.reshape(-1), y.reshape(-1)).real


def norm(x: Array) -> float:
    """Euclidean norm of all entries."""
    return float(library(x).linalg.norm(x.reshape(-1)))


def rounding_unit(x: Array) -> float:
    """Machine epsilon of the precision of x."""
    return float(library(x).finfo(x.dtype).eps)


def to_host(x: Array) -> npt.NDArray[Any]:
    """Convert to a NumPy array, copied from the device if necessary."""
    return x if isinstance(x, np.ndarray) else np.asarray(x.detach().cpu().numpy())


def beside(x: npt.NDArray[Any], other: Array) -> Array:
    """Move a NumPy array to the device of `other`."""
    if isinstance(other, np.ndarray):
        return x
    return library(other).from_numpy(np.ascontiguousarray(x)).to(other.device)


def copied(values: Array) -> Array:
    """Copy an array, on the same device."""
    return values.copy() if library(values) is np else values.clone()


def check_finite(what: str, *arrays: Any) -> None:
    """Raise FloatingPointError if a computation was given, or has made, a number that is not finite."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise FloatingPointError(f"{what} got numbers that are not finite: rescale very large or small columns")
