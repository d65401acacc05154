"""One fusion problem: the objective, its gradient, and the distance from stationarity."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fusewise.fusion.fidelity import Fidelity
from fusewise.fusion.penalties import Penalty
from fusewise.fusion.pooled import PooledEntries
from fusewise.kernels.arrays import Array, library, norm, rounding_unit
from fusewise.kernels.compiling import SMALL
from fusewise.kernels.graph_systems import scatter
from fusewise.observations import Observations
from fusewise.pairs import Pairs, Weighted


@dataclass(frozen=True, eq=False)
class Problem:
    """minimise  sum_i f_i(u_i)  +  lam sum_i sum_j c_ij phi(||u_i - u_j||)   (ordered pairs).

    For a constraint f, lam only scales the objective. Arrays are NumPy arrays, or tensors on a device.

    Attributes
    ----------
    observations, pairs, penalty, fidelity, lam : as in the formula.
    members : number of points each centre represents, if fused ones have been merged; None: one each.
    data_size : unit of gradients (see ``stationarity``); None: taken from the observations.
    """

    observations: Observations
    pairs: Pairs
    penalty: Penalty
    fidelity: Fidelity
    lam: float
    members: Array | None = None
    data_size: float | None = None

    def at(self, lam: float, penalty: Penalty) -> Problem:
        """Return the same data at another point of the path."""
        return replace(self, lam=lam, penalty=penalty, data_size=self.unit)

    @cached_property
    def unit(self) -> float:
        """||2 S(X - mean)||: the gradient of the quadratic fidelity at the one-cluster solution."""
        return 2 * norm(self.observations.centred) if self.data_size is None else self.data_size

    def weigh(self, centers: Array) -> Weighted:
        """The quadratic that majorises the pair term at these centres."""
        return self.pairs.weigh(centers, self.penalty)

    def objective(self, centers: Array, weighted: Weighted) -> float:
        """The objective, given the weights of the pairs at these centres."""
        return self.fidelity.value(self.observations, centers) + self.lam * weighted.energy

    def pair_gradient(self, centers: Array, weighted: Weighted) -> Array:
        """4 lam L u: the gradient of the pair term."""
        return 4 * self.lam * weighted.laplacian(centers)

    def pull(self, degree: Array) -> Array:
        """2 lam d_i: the pull of its pairs on a point, relative to that of its data."""
        return 2 * self.lam * (degree if self.members is None else degree / self.members)

    def stationarity(self, centers: Array, weighted: Weighted) -> float:
        """Relative size of the gradient, or of its projection under a constraint.

        For the quadratic fidelity: ||grad|| / ||2 S(X - mean)||, where the denominator is the gradient of the fidelity
        at the one-cluster solution; the gradient of a merged centre is divided among its members. For a constraint: the
        KKT residual ||T (U - prox(U - grad/T))|| with T = 8 lam d, over ||4 lam d S(X - mean)||, the pull towards the
        mean under the current weights.
        """
        if not self.fidelity.constrained and isinstance(self.observations, PooledEntries):
            pull = weighted.laplacian(centers)
            size = self.observations.gradient_norm(centers, pull, 2 * self.lam, self.members)
            if size is not None:
                return _ratio(size, self.unit)
        gradient = self.pair_gradient(centers, weighted)
        if not self.fidelity.constrained:
            gradient += 2 * (self.observations.normal(centers) - self.observations.target)
            if self.members is not None:
                gradient /= library(gradient).sqrt(self.members)[:, None]
            return _ratio(norm(gradient), self.unit)
        pull = 8 * self.lam * weighted.degree[:, None]
        moved = centers - gradient / library(pull).clip(pull, library(pull).finfo(pull.dtype).tiny, None)
        feasible = self.fidelity.prox(self.observations, moved, pull[:, 0])
        return _ratio(norm(pull * (centers - feasible)), norm(0.5 * pull * self.observations.centred))

    def rounding(self, centers: Array, weighted: Weighted, objective: float) -> float:
        """Largest rise of the objective that rounding can explain.

        A squared distance is accurate to about eps (|u_i|² + |u_j|²), and enters the objective with weight lam w_ij.
        Weights of a penalty with a cusp have no bound: no rise above sqrt(eps) of the objective is accepted.
        """
        felt = 4 * self.lam * _scatter(centers, weighted.degree)
        eps = rounding_unit(centers)
        return min(10 * eps * (abs(objective) + felt), math.sqrt(eps) * abs(objective))


def _scatter(centers: Array, degree: Array) -> float:
    """sum_i d_i ||u_i - mean||²."""
    mean = centers.mean(0)
    if isinstance(centers, np.ndarray) and centers.dtype.kind == "f" and len(centers) > SMALL:
        return scatter(degree, mean, centers)
    squares = centers - mean
    squares *= squares.conj()
    return float((degree * squares.real.sum(1)).sum())


def _ratio(part: float, whole: float) -> float:
    return part / (whole if whole > 0 else 1.0)
