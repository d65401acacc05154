"""Nonlinear conjugate gradients: descent of a convex objective along a graph.

The majoriser is much steeper than the objective along directions in which distances shrink or grow without turning: a
modulus has no curvature there, its majoriser has 1/t. So minimising one majoriser after the other takes many short
steps where clusters collapse. Conjugate gradients step along the objective itself, with the majoriser's diagonal as
preconditioner:

    u <- u + a v,   v <- -C g + b v,   b = max(0, <g - g', C g> / <g', C' g'>)   (Polak and Ribière; ' is the last step)

where g is half the gradient and a nearly minimises the objective along v. There the squared length of an edge is
s + 2 a s1 + a² s2, so that looking for a costs the same however many columns there are.
"""

from __future__ import annotations

import numpy as np

from fusewise.fusion.pooled import PooledEntries
from fusewise.fusion.problem import Problem
from fusewise.kernels import graph_conjugate
from fusewise.kernels.graph_conjugate import Line
from fusewise.kernels.types import Real
from fusewise.pairs import NeighborPairs, SparseWeights

#: A step is at most this much longer than that to the minimum of the majoriser.
STRETCH = 6.0


class ConjugateSteps:
    """Steps of conjugate gradients on one problem; each uses the direction of the one before."""

    def __init__(self, problem: Problem) -> None:
        assert isinstance(problem.observations, PooledEntries)
        assert isinstance(problem.pairs, NeighborPairs)
        self.problem = problem
        self._held, self._pairs = problem.observations, problem.pairs
        self._g = np.zeros_like(self._held.means)
        self._v = np.zeros_like(self._g)
        self._energy = 0.0
        self._moved: Real | None = None

    @staticmethod
    def suit(problem: Problem) -> bool:
        """Whether the objective is convex, of entries that are real, along the edges of a graph."""
        observations = problem.observations
        return (
            problem.penalty.convex
            and not problem.fidelity.constrained
            and isinstance(problem.pairs, NeighborPairs)
            and isinstance(observations, PooledEntries)
            and observations.is_real
        )

    def move(self, centers: Real, weighted: SparseWeights) -> Real:
        """Return the centres after one step from these, at which the edges were weighed.

        It begins anew, along the preconditioned gradient, if these are not the centres that the last step led to.
        """
        held, coupling = self._held, 2 * self.problem.lam
        around = held.counts, held.means, centers
        energy, common = graph_conjugate.gradient(
            *around, weighted.laplacian(centers), weighted.degree, coupling, self._g
        )
        known = centers is self._moved and self._energy > 0
        share = max(0.0, (energy - common) / self._energy) if known else 0.0
        line = graph_conjugate.direction(*around, weighted.degree, coupling, self._g, self._v, share)
        if line.slope >= 0 and share > 0:  # not downhill
            line = graph_conjugate.direction(*around, weighted.degree, coupling, self._g, self._v, 0.0)
        self._energy = energy
        moved: Real = self._v * self._v.dtype.type(self._length(centers, weighted, line))
        moved += centers
        self._moved = held.confine(moved)
        return self._moved

    def _length(self, centers: Real, weighted: SparseWeights, line: Line) -> float:
        """The length of a step along the direction, at which the objective is nearly lowest.

        The majoriser is lowest at a shorter length; the secant of the slopes there and at the start leads on.
        """
        pairs, penalty, coupling = self._pairs, self.problem.penalty, 2 * self.problem.lam
        cross, squares = graph_conjugate.edge_products(centers, self._v, pairs.first, pairs.second)
        stiffness = line.bend + coupling * float(weighted.weights @ squares)
        if not (line.slope < 0 < stiffness):
            return 0.0
        short = -line.slope / stiffness
        weights = penalty.value_and_weight(graph_conjugate.squares_at(short, weighted.squares, cross, squares))[1]
        pull = graph_conjugate.slope_at(short, pairs.affinity, weights, cross, squares)
        slope = line.tilt + short * line.bend + coupling * pull
        turn = 1 - slope / line.slope  # the share of the slope that is gone
        return short * min(1 / turn, STRETCH) if turn > 0 else STRETCH * short
