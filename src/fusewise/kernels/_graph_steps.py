"""Compiled steps of fusion along a graph, where a centre is held by n_ip entries with mean m_ip in each column p.

The quadratic that majorises the objective,  sum_ip n_ip (u_ip - m_ip)² + lam sum_ij w_ij ||u_i - u_j||²,  has the
minimum  n_ip u_ip + t sum_j w_ij (u_ip - u_jp) = n_ip m_ip  with t = 2 lam: a system for each column, all with the
same graph, solved by conjugate gradients in one loop over arrays that are written once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from fusewise.kernels._arrays import Real
from fusewise.kernels._compiling import compiled
from fusewise.kernels._graph import Integers
from fusewise.kernels._threads import in_threads, threads_for


@dataclass(frozen=True, eq=False)
class ColumnSystems:
    """n_ip u_ip + t sum_j w_ij (u_ip - u_jp) = n_ip m_ip, for every column p."""

    # counts, means: N x P, the n and m
    counts: Real
    means: Real
    # indptr, indices, data: the w_ij in compressed sparse rows, symmetric
    indptr: Integers
    indices: Integers
    data: Real
    degree: Real  # sum_j w_ij
    coupling: float  # t
    spare: list[Any] = field(default_factory=list)  # arrays for intermediate results, kept from one call to the next

    def solve(self, centers: Real, laplacian: Real, *, shrink: float, max_steps: int) -> Real:
        """Approach the solution from `centers`, given sum_j w_ij (u_i - u_j) there.

        Conjugate gradients, preconditioned by the diagonal, until the residual of every column has shrunk by `shrink`.
        """
        solved = centers.copy()
        p = solved.shape[1]
        # Columns are independent, so that threads share nothing but the graph.
        parts = min(threads_for(len(self.data) * p * max_steps), p)
        cuts = [p * k // parts for k in range(parts + 1)]

        def work(ends: tuple[int, int]) -> None:
            room = self._take_room(ends[1] - ends[0], solved.dtype)
            _solve_columns(
                self.counts, self.means, self.indptr, self.indices, self.data, self.degree, self.coupling,
                laplacian, solved, room, shrink, max_steps, *ends,
            )  # fmt: skip
            self.spare.append(room)

        for _ in in_threads(work, list(pairwise(cuts))):
            pass
        return solved

    def _take_room(self, width: int, dtype: Any) -> Real:
        """Three arrays of N x width numbers; of those that are kept, where they have this size."""
        shape = (3, len(self.degree), width)
        while self.spare:
            room: Real = self.spare.pop()
            if room.shape == shape and room.dtype == dtype:
                return room
        return np.empty(shape, dtype)


@compiled
def _begin_columns(
    counts: Any, means: Any, degree: Any, coupling: float, laplacian: Any, centers: Any, residual: Any,
    direction: Any, energy: Any, begin: int,
) -> None:  # fmt: skip
    """Residuals and their energies at the centres, and no direction yet."""
    n, p = direction.shape
    end = begin + p
    for i in range(n):
        held, mean, center = counts[i, begin:end], means[i, begin:end], centers[i, begin:end]
        pull, row, rest, own = laplacian[i, begin:end], direction[i], residual[i], coupling * degree[i]
        for q in range(p):
            rest[q] = held[q] * (mean[q] - center[q]) - coupling * pull[q]
            weight = held[q] + own
            energy[q] += rest[q] * rest[q] / (weight if weight > 0 else 1)
            row[q] = 0


@compiled(shapes=("N P", "N P", "ends", "halves", "halves", "N", "", "N P", "N P", "three N width", "", "", "", ""))
def _solve_columns(
    counts: Any, means: Any, indptr: Any, indices: Any, data: Any, degree: Any, coupling: float, laplacian: Any,
    centers: Any, room: Any, shrink: float, max_steps: int, begin: int, end: int,
) -> None:  # fmt: skip
    residual, direction, pushed = room[0], room[1], room[2]
    n, p = direction.shape
    energy, before, length = np.zeros(p), np.zeros(p), np.zeros(p)
    _begin_columns(counts, means, degree, coupling, laplacian, centers, residual, direction, energy, begin)
    goal = shrink * shrink * energy
    for step in range(max_steps):
        if np.all(energy <= goal):
            break
        for q in range(p):
            length[q] = energy[q] / before[q] if step > 0 and before[q] > 0 else 0
            before[q] = energy[q]
        for i in range(n):
            row, rest, held, own = direction[i], residual[i], counts[i, begin:end], coupling * degree[i]
            for q in range(p):
                weight = held[q] + own
                row[q] = rest[q] / (weight if weight > 0 else 1) + length[q] * row[q]
        length[:] = 0
        for i in range(n):
            row, push, held, own = direction[i], pushed[i], counts[i, begin:end], degree[i]
            for q in range(p):
                push[q] = own * row[q]
            for e in range(indptr[i], indptr[i + 1]):
                w = data[e]
                other = direction[indices[e]]
                for q in range(p):
                    push[q] -= w * other[q]
            for q in range(p):
                push[q] = held[q] * row[q] + coupling * push[q]
                length[q] += row[q] * push[q]
        for q in range(p):
            length[q] = energy[q] / length[q] if length[q] > 0 else 0
            energy[q] = 0
        for i in range(n):
            row, push, rest, center = direction[i], pushed[i], residual[i], centers[i, begin:end]
            held, own = counts[i, begin:end], coupling * degree[i]
            for q in range(p):
                center[q] += length[q] * row[q]
                rest[q] -= length[q] * push[q]
                weight = held[q] + own
                energy[q] += rest[q] * rest[q] / (weight if weight > 0 else 1)
