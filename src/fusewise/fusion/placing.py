"""Moving a problem from NumPy arrays to tensors on a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fusewise.fusion.pooled import PooledEntries
from fusewise.fusion.problem import Problem
from fusewise.kernels.arrays import Array, total
from fusewise.kernels.devices import torch_device
from fusewise.kernels.graph_torch import block_inverses, block_products
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
        raise ValueError(
            f"device={device!r} supports only the quadratic fidelity: use {type(problem.fidelity).__name__} on 'cpu'"
        )
    if np.iscomplexobj(problem.observations.target):
        raise ValueError(f"device={device!r} supports only real tables: use device='cpu' for complex ones")
    members = None if problem.members is None else _tensor(problem.members, there)
    observations = _place_observations(problem.observations, there)
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


@dataclass(frozen=True, eq=False)
class DeviceQuadratics:
    """||A_i u - b_i||² = u' G_i u - 2 u' h_i + e_i: ``Quadratics`` in tensors.

    Attributes
    ----------
    gram, target, energy : N x r x r, N x r and N: the G_i, h_i and e_i.
    """

    gram: Array
    target: Array
    energy: Array

    separable = False
    is_complete = False

    @property
    def shape(self) -> tuple[int, int]:
        """(N, r)."""
        n, r = self.target.shape
        return n, r

    @cached_property
    def centred(self) -> Array:
        """h_i - G_i mean, with mean = (sum_i G_i)^+ sum_i h_i."""
        import torch

        mean = torch.linalg.pinv(self.gram.sum(0), hermitian=True) @ self.target.sum(0)
        return self.target - self.gram @ mean

    def misfit(self, centers: Array) -> float:
        """sum_i ||A_i u_i - b_i||²."""
        return total((centers * (self.normal(centers) - 2 * self.target)).sum(1) + self.energy)

    def normal(self, centers: Array) -> Array:
        """G_i u_i."""
        return block_products(self.gram, centers)

    def solve(self, anchors: Array, pull: Array) -> Array:
        """argmin_u ||A_i u - b_i||² + t_i ||u - v_i||² = v_i + (G_i + t_i I)^+ (h_i - G_i v_i)."""
        return anchors + self.preconditioner(pull)(self.target - self.normal(anchors))

    def confine(self, centers: Array) -> Array:
        """Return the centres unchanged: there is no known range to project onto."""
        return centers

    def preconditioner(self, pull: Array) -> Callable[[Array], Array]:
        """(G_i + t_i I)^-1, as a function of the right-hand sides."""
        import torch

        floor = torch.finfo(pull.dtype).eps * max(1.0, float(self.gram.abs().max()))
        inverse = block_inverses(self.gram, torch.clip(pull, 100 * floor, None))
        return lambda right: block_products(inverse, right)
