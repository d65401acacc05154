"""Pairs along a graph of nearest neighbours, in NumPy and in tensors on a device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from fusewise.kernels import (
    Array,
    Index,
    Mask,
    Real,
    beside,
    by_rows,
    edge_squares,
    laplacian,
    library,
    merged_edges,
    row_weights,
    spanning_forest,
    to_host,
    torch_device,
    total,
)
from fusewise.observations import Entries
from fusewise.pairs._distances import (
    PairPenalty,
    PairWeights,
    partial_squared_distances,
    partial_squared_distances_between,
    real_view,
    row_blocks,
)
from fusewise.support import InputError

#: Rows for each of the 2^P cells around a point of P columns, up to which its neighbours are found by comparing it with
#: all rows: measured with 15 neighbours (a tree is faster at 20,000 x 6, not at 60,000 x 8 or 60,000 x 10).
ROWS_PER_CELL = 150


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Positions of the edges of a graph in the rows of its symmetric matrix (compressed sparse rows)."""

    indptr: Array
    indices: Array
    edges: Array  # the edge of each entry of the matrix


@dataclass(frozen=True, eq=False)
class SparseWeights:
    """Weights along a graph, in NumPy arrays or tensors on a device."""

    energy: float
    degree: Array
    adjacency: Adjacency
    data: Array  # w_ij in the order of its rows
    weights: Array  # w_ij of each edge
    squares: Array  # ||u_i - u_j||² of each edge, by which it was weighed
    centers: Array | None = None  # the u_i, if the edges were weighed by their distances

    @property
    def matrix(self) -> Any:
        """w_ij, a symmetric sparse matrix."""
        n = len(self.degree)
        return sparse.csr_matrix((self.data, self.adjacency.indices, self.adjacency.indptr), shape=(n, n))

    def laplacian(self, centers: Array) -> Array:
        """L u = d_i u_i - sum_j w_ij u_j; kept for the centres at which the edges were weighed."""
        return self._at_centers if centers is self.centers else self._product(centers)

    @cached_property
    def _at_centers(self) -> Array:
        product = self._product(self.centers)
        if isinstance(product, np.ndarray):
            product.flags.writeable = False
        return product

    def _product(self, centers: Array) -> Array:
        rows = self.adjacency
        product = laplacian(rows.indptr, rows.indices, self.data, self.degree, _points(centers))
        return product.view(centers.dtype)


def _points(centers: Array) -> Array:
    """Rows of real numbers, with the same distances."""
    return real_view(centers) if isinstance(centers, np.ndarray) else centers


@dataclass(frozen=True, eq=False)
class NeighborPairs:
    """Pairs (i, j), i < j, with affinities c_ij: the edges of a graph on N points.

    Its arrays are NumPy arrays, or tensors on a device (``on``).
    """

    n_points: int
    first: Array
    second: Array
    affinity: Array

    @classmethod
    def from_graph(cls, graph: Any) -> Self:
        """Take the edges of a sparse matrix of affinities, symmetrised by the larger of c_ij and c_ji."""
        graph = sparse.csr_matrix(graph)
        both = sparse.coo_matrix(sparse.triu(graph.maximum(graph.T), k=1))
        return cls(graph.shape[0], both.row.astype(np.intp), both.col.astype(np.intp), both.data)

    @classmethod
    def nearest(cls, entries: Entries, n_neighbors: int, min_overlap: int = 1) -> Self:
        """Join each point to its `n_neighbors` nearest by partial distance."""
        n = entries.shape[0]
        if n_neighbors < 1:
            raise InputError(f"n_neighbors must be at least 1, got {n_neighbors!r}")
        k = min(n_neighbors, n - 1)
        neighbors, known = _nearest(entries, k, min_overlap)
        return cls.from_neighbors(np.where(known, neighbors, np.arange(n)[:, None]), entries.seen.dtype)

    @classmethod
    def from_neighbors(cls, neighbors: Array, dtype: npt.DTypeLike = np.float64, device: str = "cpu") -> Self:
        """Join each point i to the points neighbors[i] (i itself stands for none), with affinity 1.

        `neighbors` is N x k, a NumPy array or a tensor; `device` is where to sort the edges.
        """
        n = len(neighbors)
        where = torch_device(device)
        if where is None:
            own = np.arange(n)[:, None]
            # np.unique would hash them, which is ten times slower.
            keys: Array = np.sort(np.minimum(own, neighbors) * n + np.maximum(own, neighbors), axis=None)
            keys = keys[np.append(True, keys[1:] != keys[:-1])]
        else:
            import torch

            others = torch.as_tensor(neighbors, device=where)
            points = torch.arange(n, device=where)[:, None]
            keys = torch.unique(torch.minimum(points, others) * n + torch.maximum(points, others))
        first = keys // n
        second = keys - first * n
        apart = first != second
        return cls(n, to_host(first[apart]), to_host(second[apart]), np.ones(int(apart.sum()), dtype))

    def on(self, device: Any, dtype: Any) -> NeighborPairs:
        """The graph on a device, with affinities in the precision of the centres."""
        import torch

        rows = self.adjacency
        parts = (self.first, self.second, rows.indptr, rows.indices, rows.edges)
        kind = np.int32 if 2 * len(self.first) < 2**31 else np.int64  # half the memory and memory traffic
        first, second, indptr, indices, edges = (torch.from_numpy(part.astype(kind)).to(device) for part in parts)
        there = NeighborPairs(self.n_points, first, second, torch.from_numpy(self.affinity).to(device, dtype))
        there.__dict__["adjacency"] = Adjacency(indptr, indices, edges)
        return there

    @property
    def largest_degree(self) -> float:
        """max_i sum_j c_ij."""
        ends, affinity = (np.concatenate([to_host(part) for part in pair]) for pair in (
            (self.first, self.second), (self.affinity, self.affinity)
        ))  # fmt: skip
        return float(np.bincount(ends, affinity, self.n_points).max(initial=0))

    @cached_property
    def adjacency(self) -> Adjacency:
        """Positions of the edges in the rows of the matrix of weights."""
        return Adjacency(*by_rows(self.n_points, self.first, self.second))

    def weigh(self, centers: Array, penalty: PairPenalty) -> PairWeights:
        s = edge_squares(_points(centers), self.first, self.second)
        return self._weighted(*penalty.value_and_weight(s), s, centers)

    def weigh_partial(self, entries: Entries, penalty: PairPenalty, min_overlap: int) -> PairWeights:
        ends = to_host(self.first), to_host(self.second)
        squares = partial_squared_distances_between(entries, *ends, min_overlap=min_overlap)
        s = beside(squares, self.affinity)
        known = library(s).isfinite(s)
        value, weight = penalty.value_and_weight(library(s).where(known, s, 0))
        return self._weighted(value, weight * known, s)

    def merge(self, groups: Index, n_groups: int) -> NeighborPairs:
        """Replace each group by one point: affinities of parallel edges add up, edges within a group are removed."""
        return NeighborPairs(n_groups, *merged_edges(groups, n_groups, self.first, self.second, self.affinity))

    def spans(self, centers: Array) -> tuple[Index, Index, Real]:
        squares = edge_squares(_points(centers), self.first, self.second)
        edges = spanning_forest(self.n_points, self.first, self.second, squares)
        first, second, chosen = (to_host(part[edges]) for part in (self.first, self.second, squares))
        return first.astype(np.intp), second.astype(np.intp), np.sqrt(chosen)

    def _weighted(self, value: Array, weight: Array, s: Array, centers: Array | None = None) -> SparseWeights:
        affinity = self.affinity
        if isinstance(affinity, np.ndarray):
            affinity = affinity.astype(weight.dtype, copy=False)
        weights, rows = affinity * weight, self.adjacency
        data, degree = row_weights(rows.indptr, rows.indices, rows.edges, weights)
        return SparseWeights(2 * total(affinity * value), degree, rows, data, weights, s, centers)


def _nearest(entries: Entries, k: int, min_overlap: int) -> tuple[Index, Mask]:
    """The k nearest of each point, and whether they have enough entries in common with it."""
    n = entries.shape[0]
    if entries.is_complete:
        points = real_view(entries.values)
        # A tree searches the cells around each point, up to 2^P: often slower than the products of all rows.
        how = "brute" if n <= ROWS_PER_CELL * 2 ** min(points.shape[1], 50) else "auto"
        centred = points - points.mean(axis=0)  # the products cancel far from the origin
        found = NearestNeighbors(n_neighbors=k, algorithm=how).fit(centred).kneighbors(return_distance=False)
        return np.asarray(found, dtype=np.intp), np.full((n, k), entries.shape[1] >= min_overlap)
    neighbors = np.empty((n, k), dtype=np.intp)
    known = np.empty((n, k), dtype=bool)
    for rows in row_blocks(n, n):
        s = partial_squared_distances(entries, rows, min_overlap=min_overlap)
        np.fill_diagonal(s[:, rows], np.inf)
        neighbors[rows] = np.argpartition(s, k - 1, axis=1)[:, :k]
        known[rows] = np.isfinite(np.take_along_axis(s, neighbors[rows], axis=1))
    return neighbors, known
