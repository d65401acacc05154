"""Pairs along a graph of nearest neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fusewise.observations import Entries
from fusewise.observations.entries import Real, Values
from fusewise.pairs.distances import (
    partial_squared_distances,
    partial_squared_distances_between,
    row_blocks,
    squared_distances_between,
)
from fusewise.pairs.weights import Weighted
from fusewise.penalties import Penalty


@dataclass(frozen=True, eq=False)
class NeighborPairs:
    """Pairs (i, j), i < j, with affinities c_ij: the edges of a graph on N points.

    Attributes
    ----------
    n_points : N.
    first, second : the ends of each edge, first < second.
    affinity : c_ij of each edge.
    """

    n_points: int
    first: npt.NDArray[np.intp]
    second: npt.NDArray[np.intp]
    affinity: Real

    @classmethod
    def from_graph(cls, graph: Any) -> Self:
        """Edges of a sparse matrix of affinities, symmetrised by the larger of c_ij and c_ji."""
        graph = sparse.csr_matrix(graph)
        both = sparse.coo_matrix(sparse.triu(graph.maximum(graph.T), k=1))
        return cls(graph.shape[0], both.row.astype(np.intp), both.col.astype(np.intp), both.data)

    @classmethod
    def nearest(cls, entries: Entries, n_neighbors: int, min_overlap: int = 1) -> Self:
        """Join each point with its `n_neighbors` nearest by partial distance."""
        n = entries.shape[0]
        if n_neighbors < 1:
            raise ValueError(f"n_neighbors must be at least 1, got {n_neighbors!r}")
        k = min(n_neighbors, n - 1)
        neighbors = np.empty((n, k), dtype=np.intp)
        known = np.empty((n, k), dtype=bool)
        for rows in row_blocks(n, n):
            s = partial_squared_distances(entries, rows, min_overlap=min_overlap)
            np.fill_diagonal(s[:, rows], np.inf)
            neighbors[rows] = np.argpartition(s, k - 1, axis=1)[:, :k]
            known[rows] = np.isfinite(np.take_along_axis(s, neighbors[rows], axis=1))
        ends = np.repeat(np.arange(n), k)[known.ravel()], neighbors[known]
        return cls.from_graph(sparse.csr_matrix((np.ones(len(ends[0]), entries.seen.dtype), ends), shape=(n, n)))

    @property
    def affinities(self) -> Any:
        """The c_ij as a symmetric sparse matrix."""
        return self._matrix(self.affinity)

    @property
    def largest_degree(self) -> float:
        """max_i sum_j c_ij."""
        return float(np.asarray(self.affinities.sum(axis=1)).max(initial=0))

    def weigh(self, centers: Values, penalty: Penalty) -> Weighted:
        """Weigh every edge by the distance of its centres."""
        s = squared_distances_between(centers, self.first, self.second)
        value, weight = penalty.value_and_weight(s)
        return self._weighted(value, weight)

    def weigh_partial(self, entries: Entries, penalty: Penalty, min_overlap: int) -> Weighted:
        """Weigh every edge by its partial distance; an edge with too few common entries gets no weight."""
        s = partial_squared_distances_between(entries, self.first, self.second, min_overlap=min_overlap)
        unknown = np.isinf(s)
        value, weight = penalty.value_and_weight(np.where(unknown, 0, s))
        return self._weighted(value, np.where(unknown, 0, weight))

    def _weighted(self, value: Real, weight: Real) -> Weighted:
        matrix = self._matrix(self.affinity * weight)
        energy = 2 * float(np.dot(self.affinity.astype(float), value.astype(float)))
        return Weighted(energy, matrix, np.asarray(matrix.sum(axis=1)).ravel())

    def _matrix(self, data: Real) -> Any:
        upper = sparse.csr_matrix((data, (self.first, self.second)), shape=(self.n_points, self.n_points))
        return (upper + upper.T).tocsr()
