"""Pairs along a graph, in tensors on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fusewise.kernels import graph_torch
from fusewise.kernels.arrays import Array, to_host, total
from fusewise.kernels import spanning_torch
from fusewise.kernels.types import Index, Real
from fusewise.observations import Entries
from fusewise.pairs.neighbors import NeighborPairs
from fusewise.pairs.weights import OnDevice, PairPenalty, Weighted


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
        return graph_torch.laplacian(self.indptr, self.indices, self.data, self.degree, centers)


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
        kept = spanning_torch.spanning_forest(self.n_points, self.first, self.second, lengths)
        first, second, length = (to_host(each[kept]) for each in (self.first, self.second, lengths))
        return first.astype(np.intp), second.astype(np.intp), length

    def _squared_lengths(self, centers: Array) -> Array:
        """||u_i - u_j||² of every edge."""
        return graph_torch.edge_squares(centers, self.first, self.second)

    def weigh_partial(self, entries: Entries, penalty: PairPenalty, min_overlap: int) -> Weighted:
        """Weigh every edge by its partial distance; an edge with too few common entries gets no weight."""
        import torch

        values, mask = (torch.from_numpy(part).to(self.affinity.device) for part in (entries.values, entries.mask))
        s = torch.empty_like(self.affinity, dtype=values.dtype)
        known = torch.empty_like(self.affinity, dtype=torch.bool)
        n_features = float(np.count_nonzero(entries.column_counts))
        step = max(1, graph_torch.BLOCK // values.shape[1])
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
        data, degree = graph_torch.row_weights(self.indptr, self.indices, self.edges, self.affinity * weight)
        return DeviceSparseWeights(2 * total(self.affinity * value), degree, self.indptr, self.indices, data)
