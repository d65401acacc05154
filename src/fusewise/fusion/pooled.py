"""Entries of points that share a centre."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fusewise.kernels import graph_systems
from fusewise.kernels.arrays import Array, library, total
from fusewise.kernels.compiling import SMALL
from fusewise.kernels.graph_groups import sum_by
from fusewise.kernels.types import Index, Values
from fusewise.observations import Entries
from fusewise.pairs.distances import real_view


@dataclass(frozen=True, eq=False)
class PooledEntries:
    """sum_i ||S_i (u - x_i)||² over the points i of a group = sum_p n_p |u_p - m_p|² + squares within the group.

    n_p points of the group have feature p observed, with mean m_p. Only means and counts are kept, so a group of a
    thousand points costs as much as one point. Arrays are NumPy arrays, or (if real) tensors on a device.

    Attributes
    ----------
    counts, means : N x P, the n_p and m_p of each group (m_p = 0 where n_p = 0).
    within : sum of squares about the means, over all groups.
    low, high : smallest and largest entry of each column (real and imaginary parts apart).
    """

    counts: Array
    means: Array
    within: float
    low: Array
    high: Array

    separable = True

    @classmethod
    def of(cls, entries: Entries) -> PooledEntries:
        """Return every row as a group of its own."""
        return cls(entries.seen, entries.values, 0.0, *entries._range)

    @property
    def shape(self) -> tuple[int, int]:
        """(N, P)."""
        n, p = self.means.shape
        return n, p

    @cached_property
    def is_complete(self) -> bool:
        """Whether every feature of every point is observed, so that A'A of a group is a multiple of the identity."""
        return bool((self.counts == self.counts[:, :1]).all())

    @property
    def is_real(self) -> bool:
        """Whether the entries are real, in NumPy arrays."""
        return isinstance(self.means, np.ndarray) and self.means.dtype.kind == "f"

    @cached_property
    def target(self) -> Array:
        """sum_i S_i x_i."""
        return self.counts * self.means

    @cached_property
    def centred(self) -> Array:
        """sum_i S_i (x_i - mean)."""
        seen = self.counts.sum(0)
        return self.counts * (self.means - self.target.sum(0) / (seen + (seen <= 0)))

    def merge(self, groups: Index, n_groups: int) -> PooledEntries:
        """Merge groups into larger groups."""
        counts, sums = sum_by(groups, n_groups, self.counts), sum_by(groups, n_groups, self.target)
        means: Values = (sums / np.maximum(counts, 1)).astype(self.means.dtype)
        scatter = np.sum(self.counts * np.square(np.abs(self.means - means[groups])), dtype=float)
        return PooledEntries(counts, means, self.within + float(scatter), self.low, self.high)

    def misfit(self, centers: Array) -> float:
        """sum_i ||S_i (u_i - x_i)||²."""
        if self._in_loops:
            return graph_systems.misfit(self.counts, self.means, centers) + self.within
        return total(self.counts * abs(centers - self.means) ** 2) + self.within

    def gradient_norm(self, centers: Array, laplacian: Array, coupling: float, members: Array | None) -> float | None:
        """Norm of the gradient 2 (n_p (u_p - m_p) + t (L u)_p), that of each group over the root of its members.

        None where compiled loops are not worth it.
        """
        if not self._in_loops:
            return None
        squares = graph_systems.squared_gradients(self.counts, self.means, centers, laplacian, coupling)
        return 2 * math.sqrt((squares if members is None else squares / members).sum())

    @property
    def _in_loops(self) -> bool:
        return self.is_real and len(self.means) > SMALL

    def normal(self, centers: Array) -> Array:
        """n_p u_p."""
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
        if self.is_real:
            return np.clip(centers, self.low, self.high, out=centers)
        return np.clip(real_view(centers), self.low, self.high).view(centers.dtype)

    def preconditioner(self, pull: Array) -> Callable[[Array], Array]:
        """(n_p + t_i)^-1, as a function of the right-hand sides."""
        weight = self.counts + pull[:, None]
        inverse = 1 / (weight + (weight <= 0))
        return lambda right: right * inverse
