"""The constrained l0 problem solved to proven optimality, and how far a given partition is from its optimum."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fusewise.exact._bounds import best_shares, drop_edges, merge_twins
from fusewise.exact._graph import (
    Clock,
    Ints,
    Piece,
    WeightedGraph,
    check_data,
    climb,
    feasible_pairs,
    greedy_cliques,
    local_search,
    observed_rows,
)
from fusewise.exact._programme import enumerate_cliques, solve_cliques
from fusewise.kernels import Floats, Mask
from fusewise.observations import number_by_size
from fusewise.pairs import boxes, common_boxes, midpoints
from fusewise.support import InputError, Number, check_values, counted

#: Most cliques that the integer programme lists.
_CLIQUE_LIMIT = 1_000_000

LIMIT = Number(low=0, finite=False)


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
            slim.improve(local_search(graph, slim.labels, self.clock))
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


@dataclass(frozen=True)
class ExactSolution:
    """min sum_i sum_j [u_i != u_j] subject to ||S_i (x_i - u_i)||_inf <= epsilon/2, as solved.

    Attributes
    ----------
    labels : cluster of each point, 0 the largest; -1 for a row with no observed entry.
    cluster_centers : K x P, the midpoint of the intersection of each cluster's boxes: with one epsilon the midrange of
        what its members observed, NaN in a feature none of them observed (any value is optimal there).
    objective, bound : ordered pairs with different centres; proven lower bound on that of every feasible partition.
    gap : (objective - bound) / bound: the objective is at most this share above the optimum. 0 when they are equal,
        infinity when only the bound is 0.
    status : "optimal" (no feasible partition separates fewer pairs), "within gap" (of the one asked for), "time limit",
        "too large" (what the reductions leave has too many cliques to list) or "interrupted".
    seconds : time taken.
    """

    labels: Ints
    cluster_centers: Floats
    objective: int
    bound: int
    status: str
    seconds: float

    @property
    def gap(self) -> float:
        """How far the objective is above the bound, relative to the bound."""
        return relative_gap(self.objective, self.bound)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.cluster_centers)

    @property
    def centers(self) -> Floats:
        """The u_i, N x P: the centre of each point's cluster, NaN for a row with no observed entry."""
        centers = np.full((len(self.labels), self.cluster_centers.shape[1]), np.nan)
        inside = self.labels >= 0
        centers[inside] = self.cluster_centers[self.labels[inside]]
        return centers


def solve_l0(
    X: Any,
    epsilon: Any = None,
    mask: Any = None,
    *,
    lower: Any = None,
    upper: Any = None,
    time_limit: float | None = None,
    gap: float = 0.0,
) -> ExactSolution:
    """minimise sum_i sum_j [u_i != u_j] subject to ||S_i (x_i - u_i)||_inf <= epsilon/2, to proven optimality.

    Boxes that meet in pairs meet all together (Helly), so a group can share a centre exactly when all its pairs
    can. What remains is to split the graph of feasible pairs into cliques that keep as many edges as possible.
    Reductions (components, twins, edges) come first; an integer programme, solved by HiGHS, settles what they leave.

    Parameters
    ----------
    X : real data, N x P, NaN where missing.
    epsilon : width of the boxes, >= 0: one number, or one for each column or entry. Boxes meet that do so up to
        rounding: 0.3 and 0.1 are 0.2 apart.
    mask : booleans, N x P, True where an entry was observed.
    lower, upper : instead of epsilon, bounds lower_ip <= u_ip <= upper_ip, shaped likewise, also of entries that were
        not observed; infinite or NaN where there is none.
    time_limit : seconds, after which the best partition found and its bound are returned; checked between steps.
    gap : stop as soon as the objective is proven to be at most this share above the optimum. 0: prove optimality.

    Returns
    -------
    ExactSolution
        On Ctrl-C too, with status "interrupted".

    Notes
    -----
    A row with no observed entry could join any group: it is labelled -1, with a warning, its centre is NaN, and it
    is left out of the objective. Results are deterministic unless the time limit is reached.

    Examples
    --------
    >>> from fusewise.exact import solve_l0
    >>> X = [[0.0, float("nan")], [0.1, 5.0], [3.0, 5.0], [3.1, float("nan")]]
    >>> solution = solve_l0(X, epsilon=0.2)
    >>> solution.labels.tolist(), solution.objective, solution.status
    ([0, 0, 1, 1], 8, 'optimal')
    """
    clock = Clock(math.inf if time_limit is None else time_limit)
    check_values({"gap": gap, "time_limit": clock.limit}, {"gap": Number(low=0), "time_limit": LIMIT})
    data = check_data(X, mask)
    limits = boxes(data, epsilon, lower, upper)
    rows = observed_rows(data)
    adjacent = feasible_pairs(data, epsilon, lower, upper)[np.ix_(rows, rows)]
    search = Search(adjacent, clock, gap)
    status = search.run()
    labels = np.full(len(data), -1, dtype=np.int64)
    labels[rows] = search.labels()
    centers = midpoints(*common_boxes(*limits, labels))
    return ExactSolution(labels, centers, search.objective(), search.bound(), status, clock.elapsed())


@dataclass(frozen=True)
class Certificate:
    """bound <= optimum of the l0 problem, against the objective of the partition given.

    Attributes
    ----------
    objective, bound : ordered pairs that the partition separates; proven lower bound on that of every feasible one.
    gap : (objective - bound) / bound: the objective is at most this share above the optimum. 0 when they are equal,
        infinity when only the bound is 0; NaN when the partition is not feasible.
    feasible : whether every group can share a centre that is in the boxes of all its members.
    violations : m x 2, the pairs in the same group that cannot share a centre.
    exact : whether `bound` is the optimum itself.
    """

    objective: int
    bound: int
    violations: Ints
    exact: bool

    @property
    def feasible(self) -> bool:
        """Whether every group can share a centre."""
        return not len(self.violations)

    @property
    def gap(self) -> float:
        """How far the objective is above the bound, relative to the bound; NaN if the partition is not feasible."""
        return relative_gap(self.objective, self.bound) if self.feasible else math.nan

    def __str__(self) -> str:
        """The certificate in words."""
        separates = f"this partition separates {self.objective} ordered pairs"
        if not self.feasible:
            first, second = self.violations[0]
            pairs = f"{counted(len(self.violations), 'pair')} of points in the same group cannot share a centre"
            return f"Infeasible: {pairs}, for instance rows {first} and {second}."
        if self.gap == 0:
            return f"Optimal: {separates}, and no feasible partition separates fewer."
        if math.isfinite(self.gap):
            known = "the optimum is" if self.exact else "no feasible partition separates fewer than"
            return f"At most {_percent_up(self.gap)}% above the optimum: {separates}; {known} {self.bound}."
        if self.exact:
            return f"Not optimal: {separates}; the optimum is 0, so no percentage can be given."
        return f"Unknown: {separates}, and no lower bound above 0 was proven. A longer time_limit may help."


def certify(
    X: Any,
    labels: Any,
    epsilon: Any = None,
    mask: Any = None,
    *,
    lower: Any = None,
    upper: Any = None,
    time_limit: float = 10.0,
) -> Certificate:
    """(objective of labels - proven bound) / bound: how far a partition is above the l0 optimum. Print it to read it.

    Parameters
    ----------
    X : as in `solve_l0`.
    labels : N whole numbers. Points labelled -1 (outliers) count as one group each. Rows with no observed entry are
        left out, as in `solve_l0`.
    epsilon, mask, lower, upper : as in `solve_l0`.
    time_limit : seconds for the exact solver. When they are up, the bound reached so far is used; where HiGHS is needed
        but missing, that of the reductions.
    """
    check_values({"time_limit": time_limit}, {"time_limit": LIMIT})
    data = check_data(X, mask)
    groups = _check_labels(labels, len(data))
    rows = np.flatnonzero(~np.isnan(data).all(axis=1))
    adjacent = feasible_pairs(data, epsilon, lower, upper)[np.ix_(rows, rows)]
    same = groups[rows, None] == groups[None, rows]
    objective, violations = int(same.size - same.sum()), np.argwhere(np.triu(same & ~adjacent, 1))
    search = Search(adjacent, Clock(time_limit))
    with contextlib.suppress(ImportError):  # without HiGHS the bound of the reductions is valid
        search.run()
    bound = search.bound()
    return Certificate(objective, bound, rows[violations], exact=bound == search.objective())


def _percent_up(share: float) -> str:
    """A share as a percentage of two significant digits, never below it."""
    unit = 10.0 ** (math.floor(math.log10(100 * share)) - 1)
    return f"{math.ceil(100 * share / unit * (1 - 1e-12)) * unit:.6g}"


def _check_labels(labels: Any, n_points: int) -> Ints:
    """Labels as consecutive whole numbers, every -1 a group of its own."""
    array = np.asarray(labels)
    if array.shape != (n_points,):
        raise InputError(f"labels must have one entry per row of X, shape ({n_points},), got {array.shape}")
    if array.dtype.kind not in "iub":
        raise TypeError(f"labels must be whole numbers, got dtype {array.dtype}")
    groups = np.unique(array, return_inverse=True)[1].astype(np.int64)
    alone = np.flatnonzero(array.astype(np.int64) == -1)
    groups[alone] = groups.max(initial=0) + 1 + np.arange(len(alone))
    return groups
