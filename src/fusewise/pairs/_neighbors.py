"""Pairs along a graph of nearest neighbours, in NumPy and in tensors on a device."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from fusewise.kernels import (
    EDGE_BLOCK,
    Array,
    Index,
    Integers,
    Mask,
    Real,
    Values,
    by_rows,
    edge_squares,
    laplacian,
    merged_edges,
    row_weights,
    spanning_forest,
    to_host,
    torch_device,
    total,
)
from fusewise.observations import Entries
from fusewise.pairs._distances import (
    OnDevice,
    PairPenalty,
    Weighted,
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
    """Positions of the edges of a graph in the rows of its symmetric matrix (compressed sparse rows).

    Attributes
    ----------
    indptr, indices : the neighbours of row i are indices[indptr[i]:indptr[i + 1]].
    edges : the edge of each of these entries.
    spare : arrays for intermediate results on this graph (see ``ColumnSystems``).
    """

    indptr: Integers
    indices: Integers
    edges: Integers
    spare: list[Any] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, n_points: int, first: Index, second: Index) -> Self:
        """Build the adjacency of these edges."""
        return cls(*by_rows(n_points, first, second))


@dataclass(frozen=True, eq=False)
class SparseWeights:
    """Weights along a graph.

    Attributes
    ----------
    energy, degree : see ``Weighted``.
    adjacency : positions of the weights.
    data : w_ij in the order of its rows.
    weights : w_ij of each edge.
    squares : ||u_i - u_j||² of each edge, by which it was weighed.
    centers : the u_i, if the edges were weighed by their distances.
    """

    energy: float
    degree: Real
    adjacency: Adjacency
    data: Real
    weights: Real
    squares: Real
    centers: Values | None = None

    @property
    def matrix(self) -> Any:
        """w_ij, a symmetric sparse matrix."""
        n = len(self.degree)
        return sparse.csr_matrix((self.data, self.adjacency.indices, self.adjacency.indptr), shape=(n, n))

    def sums(self, centers: Values) -> Values:
        """sum_j w_ij u_j."""
        return self.degree[:, None] * centers - self.laplacian(centers)

    def laplacian(self, centers: Values) -> Values:
        """L u = d_i u_i - sum_j w_ij u_j; kept for the centres at which the edges were weighed."""
        return self._at_centers if centers is self.centers else self._product(centers)

    @cached_property
    def _at_centers(self) -> Values:
        assert self.centers is not None
        product = self._product(self.centers)
        product.flags.writeable = False
        return product

    def _product(self, centers: Values) -> Values:
        rows = self.adjacency
        product = laplacian(rows.indptr, rows.indices, self.data, self.degree, real_view(centers))
        viewed: Values = product.view(centers.dtype)
        return viewed


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
    first: Index
    second: Index
    affinity: Real

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

        Parameters
        ----------
        neighbors : N x k; a NumPy array, or a tensor on the device.
        dtype : data type of the affinities.
        device : where to sort the edges.
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

    @property
    def affinities(self) -> Any:
        """The c_ij as a symmetric sparse matrix."""
        return self._unweighted.matrix

    @property
    def largest_degree(self) -> float:
        """max_i sum_j c_ij."""
        return float(self._unweighted.degree.max(initial=0))

    @property
    def _unweighted(self) -> SparseWeights:
        """Weight 1 for every edge: the affinities themselves."""
        return self._weighted(self.affinity, np.ones_like(self.affinity), np.zeros_like(self.affinity))

    @cached_property
    def adjacency(self) -> Adjacency:
        """Positions of the edges in the rows of the matrix of weights."""
        return Adjacency.of(self.n_points, self.first, self.second)

    def weigh(self, centers: Values, penalty: PairPenalty) -> Weighted:
        """Weigh every edge by the distance of its centres."""
        s = self.squared_lengths(centers)
        return self._weighted(*penalty.value_and_weight(s), s, centers)

    def weigh_partial(self, entries: Entries, penalty: PairPenalty, min_overlap: int) -> Weighted:
        """Weigh every edge by its partial distance; an edge with too few common entries gets no weight."""
        s = partial_squared_distances_between(entries, self.first, self.second, min_overlap=min_overlap)
        unknown = np.isinf(s)
        value, weight = penalty.value_and_weight(np.where(unknown, 0, s))
        return self._weighted(value, np.where(unknown, 0, weight), s)

    def squared_lengths(self, centers: Values) -> Real:
        """||u_i - u_j||² of every edge."""
        squares: Real = edge_squares(real_view(centers), self.first, self.second)
        return squares

    def merge(self, groups: Index, n_groups: int) -> NeighborPairs:
        """Replace each group by one point: affinities of parallel edges add up, edges within a group are removed."""
        return NeighborPairs(n_groups, *merged_edges(groups, n_groups, self.first, self.second, self.affinity))

    def spans(self, centers: Values) -> tuple[Index, Index, Real]:
        """Minimum spanning forest of the centres along the edges: ends and lengths of its edges."""
        squares = self.squared_lengths(centers)
        edges = spanning_forest(self.n_points, self.first, self.second, squares)
        return self.first[edges], self.second[edges], np.sqrt(squares[edges])

    def _weighted(self, value: Real, weight: Real, s: Real, centers: Values | None = None) -> SparseWeights:
        energy = 2 * float(np.dot(self.affinity.astype(float, copy=False), value.astype(float, copy=False)))
        weights = self.affinity.astype(weight.dtype, copy=False) * weight
        rows = self.adjacency
        data, degree = row_weights(rows.indptr, rows.indices, rows.edges, weights)
        return SparseWeights(energy, degree, self.adjacency, data, weights, s, centers)


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


@dataclass(frozen=True, eq=False)
class DeviceSparseWeights:
    """Weights along a graph.

    Attributes
    ----------
    energy, degree : see ``Weighted``.
    indptr, indices, data : w_ij in compressed sparse rows.
    """

    energy: float
    degree: Array
    indptr: Array
    indices: Array
    data: Array

    def sums(self, centers: Array) -> Array:
        """sum_j w_ij u_j."""
        return self.degree[:, None] * centers - self.laplacian(centers)

    def laplacian(self, centers: Array) -> Array:
        """L u = d_i u_i - sum_j w_ij u_j."""
        return laplacian(self.indptr, self.indices, self.data, self.degree, centers)


@dataclass(frozen=True, eq=False)
class DeviceNeighborPairs(OnDevice):
    """``NeighborPairs`` with the edges on a device.

    Attributes
    ----------
    host : the pairs in NumPy arrays, for the operations done on the CPU.
    first, second, affinity : ends and affinity of each edge.
    indptr, indices, edges : positions of the edges in the rows of the symmetric matrix (``Adjacency``).
    """

    host: NeighborPairs
    first: Array
    second: Array
    affinity: Array
    indptr: Array
    indices: Array
    edges: Array

    @classmethod
    def of(cls, pairs: NeighborPairs, device: Any, dtype: Any) -> Self:
        """Copy a graph to a device, with affinities in the precision of the centres, and sort its edges into rows."""
        import torch

        host = (pairs.first, pairs.second, pairs.affinity)
        first, second, affinity = (torch.from_numpy(np.ascontiguousarray(part)).to(device) for part in host)
        rows, order = torch.cat([first, second]).sort(stable=True)
        indptr = torch.zeros(pairs.n_points + 1, dtype=torch.int64, device=device)
        indptr[1:] = torch.bincount(rows, minlength=pairs.n_points).cumsum(0)
        parts: tuple[Array, ...] = (
            first,
            second,
            indptr,
            torch.cat([second, first])[order],
            order % max(len(first), 1),
        )
        if 2 * len(first) < 2**31:  # half the memory and memory traffic
            parts = tuple(part.to(torch.int32) for part in parts)
        first, second, indptr, indices, edges = parts
        return cls(pairs, first, second, affinity.to(dtype), indptr, indices, edges)

    def weigh(self, centers: Array, penalty: PairPenalty) -> Weighted:
        """Weigh every edge by the distance of its centres."""
        return self._weighted(*penalty.value_and_weight(self._squared_lengths(centers)))

    @property
    def largest_degree(self) -> float:
        """max_i sum_j c_ij."""
        import torch

        both = torch.cat([self.first, self.second])
        return float(torch.bincount(both, self.affinity.double().repeat(2), self.n_points).max()) if len(both) else 0.0

    def spans(self, centers: Array) -> tuple[Index, Index, Real]:
        """Minimum spanning forest of the centres along the edges: ends and lengths of its edges, in NumPy arrays."""
        lengths = self._squared_lengths(centers).sqrt_()
        kept = spanning_forest(self.n_points, self.first, self.second, lengths)
        first, second, length = (to_host(each[kept]) for each in (self.first, self.second, lengths))
        return first.astype(np.intp), second.astype(np.intp), length

    def _squared_lengths(self, centers: Array) -> Array:
        """||u_i - u_j||² of every edge."""
        return edge_squares(centers, self.first, self.second)

    def weigh_partial(self, entries: Entries, penalty: PairPenalty, min_overlap: int) -> Weighted:
        """Weigh every edge by its partial distance; an edge with too few common entries gets no weight."""
        import torch

        values, mask = (torch.from_numpy(part).to(self.affinity.device) for part in (entries.values, entries.mask))
        s = torch.empty_like(self.affinity, dtype=values.dtype)
        known = torch.empty_like(self.affinity, dtype=torch.bool)
        n_features = float(np.count_nonzero(entries.column_counts))
        step = max(1, EDGE_BLOCK // values.shape[1])
        for start in range(0, len(s), step):
            some = slice(start, start + step)
            i, j = self.first[some], self.second[some]
            common = mask.index_select(0, i) & mask.index_select(0, j)
            counts = common.sum(1, dtype=values.dtype)
            difference = values.index_select(0, i) - values.index_select(0, j)
            s[some] = (common * difference).square_().sum(1) * (n_features / counts.clip(1, None))
            known[some] = counts >= min_overlap
        distances: Array = torch.where(known, s, 0)
        value, weight = penalty.value_and_weight(distances)
        return self._weighted(value, weight * known)

    def _weighted(self, value: Array, weight: Array) -> DeviceSparseWeights:
        data, degree = row_weights(self.indptr, self.indices, self.edges, self.affinity * weight)
        return DeviceSparseWeights(2 * total(self.affinity * value), degree, self.indptr, self.indices, data)
