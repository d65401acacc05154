"""The weighted graph the problem becomes, and pieces of it with their incumbent and bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from fusewise.exact.feasibility import Ints
from fusewise.kernels.types import Mask


@dataclass(frozen=True)
class WeightedGraph:
    """A graph whose vertex v stands for the w_v points `members[v]`, already decided to stay together.

    Parameters
    ----------
    adjacent : array of shape (n, n)
        Symmetric, False on the diagonal.
    weights : array of shape (n,)
        Number of points behind each vertex.
    members : tuple of arrays
        Which points those are.
    """

    adjacent: Mask
    weights: Ints
    members: tuple[Ints, ...]

    @classmethod
    def of_points(cls, adjacent: Mask) -> WeightedGraph:
        """One vertex of weight 1 per point."""
        n = len(adjacent)
        return cls(adjacent, np.ones(n, dtype=np.int64), tuple(np.arange(n, dtype=np.int64)[:, None]))

    @property
    def size(self) -> int:
        """Number of vertices."""
        return len(self.weights)

    def is_complete(self) -> bool:
        """True when every pair is an edge, so that the whole graph is one cluster."""
        return int(self.adjacent.sum()) == self.size * (self.size - 1)

    def kept(self, labels: Ints) -> int:
        """sum_k W_k (W_k - 1)/2 over clusters of weight W_k: the pairs of points a partition keeps."""
        totals = np.bincount(labels, weights=self.weights)
        return int(np.sum(totals * (totals - 1)) / 2)

    def valid(self, labels: Ints) -> bool:
        """True when every cluster is a clique."""
        same = labels[:, None] == labels[None, :]
        return int(same.sum()) - self.size == int((same & self.adjacent).sum())

    def possible(self) -> int:
        """sum_ij w_i w_j a_ij + sum_i w_i(w_i - 1)/2: the pairs kept if every edge could be."""
        w = self.weights.astype(np.float64)
        return int((w @ self.adjacent @ w + w @ (w - 1)) / 2)

    def subgraph(self, vertices: Ints) -> WeightedGraph:
        """The graph induced on some vertices."""
        return WeightedGraph(
            np.ascontiguousarray(self.adjacent[np.ix_(vertices, vertices)]),
            self.weights[vertices],
            tuple(self.members[v] for v in vertices),
        )

    def components(self) -> list[Ints]:
        """Vertices of each connected component."""
        if not self.size:
            return []
        _, labels = connected_components(csr_array(self.adjacent.astype(np.int8)), directed=False)
        order = np.argsort(labels, kind="stable")
        return [np.asarray(part) for part in np.split(order, np.cumsum(np.bincount(labels))[:-1])]

    def merged(self, groups: Ints) -> WeightedGraph:
        """Each group of vertices made one: adjacent to what every member of the group is adjacent to."""
        n_groups = int(groups.max()) + 1
        indicator = csr_array((np.ones(self.size), (groups, np.arange(self.size))), shape=(n_groups, self.size))
        counts = indicator @ self.adjacent.astype(np.float64) @ indicator.T.toarray()
        sizes = np.bincount(groups, minlength=n_groups).astype(np.float64)
        adjacent = counts == np.outer(sizes, sizes)
        np.fill_diagonal(adjacent, False)
        weights = np.bincount(groups, weights=self.weights).astype(np.int64)
        lists: list[list[Ints]] = [[] for _ in range(n_groups)]
        for v, g in enumerate(groups):
            lists[g].append(self.members[v])
        return WeightedGraph(adjacent, weights, tuple(np.concatenate(part) for part in lists))

    def bitsets(self) -> list[int]:
        """Neighbourhoods as Python integers, bit j of entry i set when ij is an edge."""
        packed = np.packbits(self.adjacent, axis=1, bitorder="little")
        return [int.from_bytes(row.tobytes(), "little") for row in packed]


@dataclass
class Piece:
    """A part of the problem independent of the others: its graph, best partition, and lower <= optimum <= upper.

    The only mutable state of a solve. Whatever stops the solve, the pieces hold a valid partition and a valid bound.
    """

    graph: WeightedGraph
    labels: Ints
    upper: int
    irreducible: bool = False
    searched: bool = False

    @property
    def lower(self) -> int:
        """Pairs kept by the best partition known."""
        return self.graph.kept(self.labels)

    @property
    def closed(self) -> bool:
        """True when the best partition known is proven optimal."""
        return self.upper <= self.lower

    def improve(self, labels: NDArray[np.int64]) -> None:
        """Take a partition if it keeps more pairs than the best known one."""
        if self.graph.kept(labels) > self.lower:
            self.labels = labels.copy()

    def tighten(self, upper: int) -> None:
        """Take an upper bound if it is better than the best known one."""
        self.upper = max(self.lower, min(self.upper, upper))
