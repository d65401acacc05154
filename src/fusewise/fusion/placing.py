"""Moving a problem from NumPy arrays to tensors on a device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fusewise.fusion.device_quadratics import DeviceQuadratics
from fusewise.fusion.pooled import PooledEntries
from fusewise.fusion.problem import Problem
from fusewise.kernels.devices import torch_device
from fusewise.kernels.input_errors import InputError
from fusewise.observations import Entries, Observations, Quadratics
from fusewise.pairs import CompletePairs, NeighborPairs, Pairs
from fusewise.pairs.device_complete import DeviceCompletePairs
from fusewise.pairs.device_neighbors import DeviceNeighborPairs


def place(problem: Problem, device: str) -> Problem:
    """Return the problem with its arrays on a device ("cpu": unchanged); see ``torch_device``."""
    there = torch_device(device)
    if there is None:
        return problem
    if problem.fidelity.constrained:
        raise InputError(
            f"device={device!r} supports only the quadratic fidelity: use {type(problem.fidelity).__name__} on 'cpu'"
        )
    if isinstance(problem.observations, DeviceQuadratics):
        observations: Observations = problem.observations
    elif np.iscomplexobj(problem.observations.target):
        raise InputError(f"device={device!r} supports only real tables: use device='cpu' for complex ones")
    else:
        observations = _place_observations(problem.observations, there)
    members = None if problem.members is None else _tensor(problem.members, there)
    pairs = _place_pairs(problem.pairs, there, observations.target.dtype)
    return replace(problem, observations=observations, pairs=pairs, members=members)


def _place_observations(observations: Observations, device: Any) -> Observations:
    if isinstance(observations, Quadratics):
        parts = (observations.gram, observations.target, observations.energy)
        return DeviceQuadratics(*(_tensor(part, device) for part in parts))
    pooled = PooledEntries.of(observations) if isinstance(observations, Entries) else observations
    assert isinstance(pooled, PooledEntries)
    counts, means, low, high = (
        _tensor(part, device) for part in (pooled.counts, pooled.means, pooled.low, pooled.high)
    )
    return PooledEntries(counts, means, pooled.within, low, high)


def _place_pairs(pairs: Pairs, device: Any, dtype: Any) -> Pairs:
    if isinstance(pairs, NeighborPairs):
        return DeviceNeighborPairs.of(pairs, device, dtype)
    assert isinstance(pairs, CompletePairs)
    return DeviceCompletePairs(pairs, device)


def _tensor(array: Any, device: Any) -> Any:
    import torch

    return torch.from_numpy(np.ascontiguousarray(array)).to(device)
