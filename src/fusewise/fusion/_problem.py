"""One fusion problem: the objective, its gradient and the distance from stationarity, on the CPU or on a device."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fusewise.fusion._fidelity import Fidelity
from fusewise.fusion._penalties import Penalty
from fusewise.kernels import (
    Array,
    Index,
    Values,
    library,
    norm,
    rounding_unit,
    sum_by,
    to_host,
    torch_device,
    total,
)
from fusewise.observations import Entries, Quadratics
from fusewise.pairs import CompletePairs, DeviceCompletePairs, NeighborPairs, Pairs, PairWeights, real_view
from fusewise.support import InputError


@dataclass(frozen=True, eq=False)
class PooledEntries:
    """sum_i ||S_i (u - x_i)||² over the points i of a group = sum_p n_p |u_p - m_p|² + squares within the group.

    n_p points of the group have feature p observed, with mean m_p. Only means and counts are kept, so a group of a
    thousand points costs as much as one point. Arrays are NumPy arrays, or (if real) tensors on a device.
    """

    counts: Array  # N x P, the n_p of each group
    means: Array  # the m_p; 0 where n_p = 0
    within: float  # sum of squares about the means, over all groups
    low: Array  # smallest entry of each column (real and imaginary parts apart)
    high: Array

    separable = True

    @classmethod
    def of(cls, entries: Entries) -> PooledEntries:
        return cls(entries.seen, entries.values, 0.0, *entries._range)

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self.means.shape
        return n, p

    @cached_property
    def target(self) -> Array:
        return self.counts * self.means

    @cached_property
    def centred(self) -> Array:
        """sum_i S_i (x_i - mean)."""
        seen = self.counts.sum(0)
        return self.counts * (self.means - self.target.sum(0) / (seen + (seen <= 0)))

    def merge(self, groups: Index, n_groups: int) -> PooledEntries:
        counts, sums = sum_by(groups, n_groups, self.counts), sum_by(groups, n_groups, self.target)
        means: Values = (sums / np.maximum(counts, 1)).astype(self.means.dtype)
        scatter = np.sum(self.counts * np.square(np.abs(self.means - means[groups])), dtype=float)
        return PooledEntries(counts, means, self.within + float(scatter), self.low, self.high)

    def misfit(self, centers: Array) -> float:
        return total(self.counts * abs(centers - self.means) ** 2) + self.within

    def normal(self, centers: Array) -> Array:
        return self.counts * centers

    def solve(self, anchors: Array, pull: Array) -> Array:
        """argmin_u ||A_i u - b_i||² + t_i ||u - v_i||²: a weighted mean of entries and anchor."""
        # Written as a step from the anchor, so that the anchor is kept where there are neither entries nor a pull.
        weight = self.counts + pull[:, None]
        return anchors + self.counts / (weight + (weight <= 0)) * (self.means - anchors)

    def confine(self, centers: Array) -> Array:
        """Clip the centres to the range of the entries of each column, in place if they are real; see ``Entries``."""
        if not isinstance(centers, np.ndarray):
            return library(centers).clip(centers, self.low, self.high)
        if self.means.dtype.kind == "f":
            return np.clip(centers, self.low, self.high, out=centers)
        return np.clip(real_view(centers), self.low, self.high).view(centers.dtype)

    def preconditioner(self, pull: Array) -> Callable[[Array], Array]:
        """(n_p + t_i)^-1, as a function of the right-hand sides."""
        weight = self.counts + pull[:, None]
        inverse = 1 / (weight + (weight <= 0))
        return lambda right: right * inverse


@dataclass(frozen=True, eq=False)
class Problem:
    """minimise  sum_i f_i(u_i)  +  lam sum_i sum_j c_ij phi(||u_i - u_j||)   (ordered pairs).

    For a constraint f, lam only scales the objective. Arrays are NumPy arrays, or tensors on a device.
    """

    observations: Any  # PooledEntries or Quadratics; Entries under a constraint
    pairs: Pairs
    penalty: Penalty
    fidelity: Fidelity
    lam: float
    members: Array | None = None  # points that each centre represents, if fused ones have been merged; None: one each
    data_size: float | None = None  # unit of gradients (see ``stationarity``); None: taken from the observations

    def at(self, lam: float, penalty: Penalty) -> Problem:
        return replace(self, lam=lam, penalty=penalty, data_size=self.unit)

    @cached_property
    def unit(self) -> float:
        """||2 S(X - mean)||: the gradient of the quadratic fidelity at the one-cluster solution."""
        return 2 * norm(self.observations.centred) if self.data_size is None else self.data_size

    def weigh(self, centers: Array) -> PairWeights:
        """The quadratic that majorises the pair term at these centres."""
        return self.pairs.weigh(centers, self.penalty)

    def objective(self, centers: Array, weighted: PairWeights) -> float:
        """The objective, given the weights of the pairs at these centres."""
        return self.fidelity.value(self.observations, centers) + self.lam * weighted.energy

    def projected(self, centers: Array) -> Array:
        """The nearest centres that satisfy the constraint, if there is one."""
        if not self.fidelity.constrained:
            return centers
        return self.fidelity.prox(self.observations, centers, np.ones(len(centers)))

    def confined(self, centers: Array) -> Array:
        """Centres moved to where a minimum lies: into the range of the entries, unless bounds lead out of it."""
        return self.projected(centers if self.fidelity.bounded else self.observations.confine(centers))

    def pull(self, degree: Array) -> Array:
        """2 lam d_i: the pull of its pairs on a point, relative to that of its data."""
        return 2 * self.lam * (degree if self.members is None else degree / self.members)

    def stationarity(self, centers: Array, weighted: PairWeights) -> float:
        """Relative size of the gradient, or of its projection under a constraint.

        For the quadratic fidelity: ||grad|| / ||2 S(X - mean)||, where the denominator is the gradient of the fidelity
        at the one-cluster solution; the gradient of a merged centre is divided among its members. For a constraint: the
        KKT residual ||T (U - prox(U - grad/T))|| with T = 8 lam d, over ||4 lam d S(X - mean)||, the pull towards the
        mean under the current weights.
        """
        gradient = 4 * self.lam * weighted.laplacian(centers)
        if not self.fidelity.constrained:
            gradient += 2 * (self.observations.normal(centers) - self.observations.target)
            if self.members is not None:
                gradient /= library(gradient).sqrt(self.members)[:, None]
            return _ratio(norm(gradient), self.unit)
        pull = 8 * self.lam * weighted.degree[:, None]
        moved = centers - gradient / library(pull).clip(pull, library(pull).finfo(pull.dtype).tiny, None)
        feasible = self.fidelity.prox(self.observations, moved, pull[:, 0])
        return _ratio(norm(pull * (centers - feasible)), norm(0.5 * pull * self.observations.centred))

    def rounding(self, centers: Array, weighted: PairWeights, objective: float) -> float:
        """Largest rise of the objective that rounding can explain.

        A squared distance is accurate to about eps (|u_i|² + |u_j|²), and enters the objective with weight lam w_ij.
        Weights of a penalty with a cusp have no bound: no rise above sqrt(eps) of the objective is accepted.
        """
        # sum_i d_i ||u_i - mean||², which moving the origin does not change.
        scatter = float((weighted.degree * (abs(centers - centers.mean(0)) ** 2).sum(1)).sum())
        felt = 4 * self.lam * scatter
        eps = rounding_unit(centers)
        return min(10 * eps * (abs(objective) + felt), math.sqrt(eps) * abs(objective))


def _ratio(part: float, whole: float) -> float:
    return part / (whole if whole > 0 else 1.0)


def place(problem: Problem, device: str) -> Problem:
    """Return the problem with its arrays on a device ("cpu": unchanged); see ``torch_device``."""
    there = torch_device(device)
    if there is None:
        return problem
    if problem.fidelity.constrained:
        raise InputError(
            f"device={device!r} supports only the quadratic fidelity: use {type(problem.fidelity).__name__} on 'cpu'"
        )
    if np.iscomplexobj(to_host(problem.observations.target[:0])):
        raise InputError(f"device={device!r} supports only real tables: use device='cpu' for complex ones")
    observations = problem.observations
    names = ("gram", "target", "energy") if isinstance(observations, Quadratics) else ("counts", "means", "low", "high")
    observations = replace(observations, **{name: _tensor(getattr(observations, name), there) for name in names})
    members = None if problem.members is None else _tensor(problem.members, there)
    pairs: Pairs
    if isinstance(problem.pairs, NeighborPairs):
        pairs = problem.pairs.on(there, observations.target.dtype)
    else:
        assert isinstance(problem.pairs, CompletePairs)
        pairs = DeviceCompletePairs(problem.pairs.n_points, problem.pairs.sizes, device=there)
    return replace(problem, observations=observations, pairs=pairs, members=members)


def _tensor(array: Any, device: Any) -> Any:
    import torch

    return torch.as_tensor(np.ascontiguousarray(array) if isinstance(array, np.ndarray) else array, device=device)
