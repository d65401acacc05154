"""Selection of the device to compute on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels.arrays import Array
from fusewise.kernels.input_errors import InputError

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
    from fusewise.kernels.memory import available_memory

    return available_memory()
