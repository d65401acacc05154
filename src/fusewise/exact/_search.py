"""Taking the problem apart: pieces reduced until done or irreducible, then closed one by one."""

from __future__ import annotations

import math

import numpy as np

from fusewise.exact._bounds import best_shares, drop_edges, merge_twins
from fusewise.exact._graph import Clock, Ints, Piece, WeightedGraph, climb, greedy_cliques, search
from fusewise.exact._programme import enumerate_cliques, solve_cliques
from fusewise.kernels import Mask
from fusewise.observations import number_by_size

#: Most cliques that the integer programme lists.
_CLIQUE_LIMIT = 1_000_000


class Search:
    """The pieces of one problem. At every moment they hold a valid partition of all points and a valid bound.

    A step replaces `pieces` by one assignment, so an interruption between two lines loses nothing.
    """

    def __init__(self, adjacent: Mask, clock: Clock, gap: float = 0.0) -> None:
        graph = WeightedGraph.of_points(adjacent)
        self.n_points, self.clock, self.target = graph.size, clock, gap
        self.pieces = [Piece(graph, np.arange(graph.size, dtype=np.int64), graph.possible())]
        self.too_large = False  # whether a piece has too many cliques to list

    def objective(self) -> int:
        """n(n-1) - 2 * (pairs kept by the incumbent)."""
        return self.n_points * (self.n_points - 1) - 2 * sum(p.lower for p in self.pieces)

    def bound(self) -> int:
        """n(n-1) - 2 * (pairs any partition can keep)."""
        return self.n_points * (self.n_points - 1) - 2 * sum(max(p.lower, p.upper) for p in self.pieces)

    def gap(self) -> float:
        """How far the objective is above the bound, relative to the bound."""
        return relative_gap(self.objective(), self.bound())

    def run(self) -> str:
        """Reduce, then close, until the time is up, the gap small enough, or Ctrl-C; how it ended."""
        interrupted = False
        try:
            whole = self.pieces[0]
            self._replace(whole, _components(whole))
            self._reduce_all()
            self._close_all()
        except KeyboardInterrupt:
            interrupted = True
        if self.bound() == self.objective():
            return "optimal"
        if interrupted:
            return "interrupted"
        if self.gap() <= self.target:
            return "within gap"
        return "too large" if self.too_large else "time limit"

    def _replace(self, piece: Piece, parts: list[Piece]) -> None:
        self.pieces = [p for p in self.pieces if p is not piece] + parts

    def _open(self) -> list[Piece]:
        return sorted((p for p in self.pieces if not p.closed), key=lambda p: p.graph.size)

    def _reduce_all(self) -> None:
        """Take pieces apart until each is closed or irreducible; when time is short, at least a greedy partition."""
        while waiting := [p for p in self._open() if not p.irreducible]:
            if self.clock.expired():
                for piece in waiting:
                    piece.improve(climb(piece.graph, greedy_cliques(piece.graph)))
                return
            self._reduce(waiting[0])

    def _reduce(self, piece: Piece) -> None:
        """Merge twins, look for a good partition, drop the edges that no better one uses; then split or set aside."""
        graph, labels = merge_twins(piece.graph, piece.labels)
        slim = Piece(graph, labels, piece.upper, searched=piece.searched)
        self._replace(piece, [slim])
        slim.improve(climb(graph, greedy_cliques(graph)))
        slim.tighten(best_shares(graph, slim.labels).doubled // 2)
        if slim.closed:
            return
        if not piece.searched:
            slim.improve(search(graph, slim.labels, self.clock))
        slim.searched = True
        graph, upper = drop_edges(graph, slim.labels, self.clock)
        slim.tighten(upper)
        if graph is slim.graph:
            slim.irreducible = True
        else:
            self._replace(slim, _components(Piece(graph, slim.labels, slim.upper, searched=True)))

    def _close_all(self) -> None:
        """Hand the irreducible pieces to the integer programme, smallest first."""
        for piece in self._open():
            if self.clock.expired() or self.gap() <= self.target:
                return
            cliques = enumerate_cliques(piece.graph, _CLIQUE_LIMIT)
            if cliques is None:
                self.too_large = True
                continue
            solve_cliques(piece, cliques, self.clock)

    def labels(self) -> Ints:
        """The incumbent, clusters numbered from the largest, ties by their first point."""
        labels = np.zeros(self.n_points, dtype=np.int64)
        offset = 0
        for piece in self.pieces:
            for v, points in enumerate(piece.graph.members):
                labels[points] = offset + piece.labels[v]
            offset += int(piece.labels.max(initial=-1)) + 1
        return number_by_size(labels)


def relative_gap(objective: int, bound: int) -> float:
    """(objective - bound) / bound: the objective is at most this share above the optimum (infinity when bound is 0)."""
    if objective == bound:
        return 0.0
    return (objective - bound) / bound if bound else math.inf


def _components(piece: Piece) -> list[Piece]:
    """The connected components of a piece; complete ones are one cluster, and closed."""
    parts = []
    for vertices in piece.graph.components():
        graph = piece.graph.subgraph(vertices)
        labels = np.unique(piece.labels[vertices], return_inverse=True)[1].astype(np.int64)
        if graph.is_complete():
            labels = np.zeros(graph.size, dtype=np.int64)
        parts.append(Piece(graph, labels, graph.possible(), searched=piece.searched))
    # What the others keep at least, this one cannot have of what the whole keeps at most.
    total = sum(part.lower for part in parts)
    for part in parts:
        part.tighten(piece.upper - (total - part.lower))
    return parts
