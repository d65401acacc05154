"""Types of arrays, devices, their memory, and the operations that NumPy arrays and torch tensors spell differently."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from fusewise.support import InputError

Index = NDArray[np.intp]  # positions: of rows, columns or pairs
Labels = NDArray[np.intp]  # the cluster of each row; -1: none
Mask = NDArray[np.bool_]  # true where observed, or selected
Floats = NDArray[np.float64]  # real numbers in double precision
Real = NDArray[np.floating[Any]]  # real numbers in single or double precision
Values = NDArray[Any]  # float32, float64, complex64 or complex128


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


#: From an array on the host to an array on the device.
Placement = Callable[[npt.NDArray[Any]], Array]


def torch_device(name: str) -> Any:
    """Return the torch device with this name; None for NumPy and compiled loops on the CPU.

    Parameters
    ----------
    name : "cpu"; "cuda", "cuda:1", ...; "auto": a GPU if torch finds one, the CPU otherwise; "torch" or "torch:cpu":
        torch on the CPU, which runs the GPU's code path, for tests.
    """
    if name == "cpu":
        return None
    if not (name in ("auto", "torch", "torch:cpu", "cuda") or name.startswith("cuda:")):
        raise InputError(f"unknown device {name!r}: use 'cpu', 'cuda' (or 'cuda:1', ...) or 'auto'")
    try:
        import torch
    except ImportError as error:
        if name == "auto":
            return None
        raise ImportError(f"device={name!r} requires torch: pip install 'fusewise[gpu]'") from error
    if name.startswith("torch"):
        return torch.device("cpu")
    if torch.cuda.is_available():
        return torch.device("cuda" if name == "auto" else name)
    if name == "auto":
        return None
    raise RuntimeError(f"device={name!r} is not available: torch finds no such CUDA device; use device='cpu' or 'auto'")


def placement(device: str) -> Placement:
    """Return the function that moves arrays to a device, named as for ``torch_device``."""
    where = torch_device(device)
    if where is None:
        return np.asarray
    import torch

    return lambda array: torch.as_tensor(np.ascontiguousarray(array), device=where)


def device_memory(device: Any) -> int:
    """Bytes free on a torch device."""
    import torch

    if device.type == "cuda":
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + cached)
    return available_memory()


def splitmix64(numbers: Any) -> Any:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): a bijection whose output looks random."""
    with np.errstate(over="ignore"):
        numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return numbers ^ (numbers >> np.uint64(31))


#: Where Linux keeps the limits of control groups (version 2 in its root, version 1 under ``memory``).
CGROUPS = Path("/sys/fs/cgroup")
MEMORY_INFO = Path("/proc/meminfo")


def available_memory() -> int:
    """Bytes this process may still allocate: the free memory of the machine, or of its control group if less."""
    return min([_free_memory(), *_left_in_groups()])


def _free_memory() -> int:
    """Memory available without swapping; all memory, or no limit, if the system does not report it."""
    lines = dict(line.split(":", 1) for line in _read(MEMORY_INFO).splitlines() if ":" in line)
    if "MemAvailable" in lines:
        return int(lines["MemAvailable"].split()[0]) * 1024
    if not hasattr(os, "sysconf"):
        return sys.maxsize
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def _left_in_groups() -> list[int]:
    """Limit minus use for every control group this process is in (or its ancestors are) that has a limit."""
    left = []
    for line in ["0::/", ":memory:/", *_read(Path("/proc/self/cgroup")).splitlines()]:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, limit, use = CGROUPS, "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            root, limit, use = CGROUPS / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        inner = root / path.strip("/")
        for folder in (inner, *inner.parents):
            most, used = _read(folder / limit).strip(), _read(folder / use).strip()
            if folder.is_relative_to(root) and most.isdigit() and used.isdigit():  # "max" means no limit
                # Pages of the file cache are released when memory runs short.
                statistics = dict(each.split() for each in _read(folder / "memory.stat").splitlines())
                left.append(max(0, int(most) - int(used) + int(statistics.get("inactive_file", 0))))
    return left


def _read(path: Path) -> str:
    """The text of a file; empty if it cannot be read."""
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""
