"""Where to cut a merge tree: a node is one group or the best groups below it, whichever explain its rows better.

Comparing whole partitions costs K times the rows for each K. But whether a node is cut changes the fit of its own rows
only, so one walk from the leaves to the root finds the best of all partitions along the tree:

    best(node) = max( one(node), best(left) + best(right) - c ),   c = ((r + 2) / 2 + 1) log N,

the parameters of one more group and the choice of its join. A group has the t_nu density of ``mixture`` with a centre,
a size tau and one shape W common to all groups. Its rows see the centre through their entries, with precision
M_i = (W + C_i)^-1 where C_i is the covariance of their least-squares coordinates, so that

    one(node) = max over mu, tau of  n log n - sum_i [ (d_i / 2) log tau + ((nu + d_i) / 2) log(1 + D_i² / (nu tau)) ],

D_i² = (v_i - mu)' M_i (v_i - mu), up to what all partitions share. W is the spread within the groups that were found,
and both are computed in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from fusewise.automatic._evidence import regular
from fusewise.automatic._hints import NO_HINTS, Hints, place
from fusewise.automatic._mixture import TAIL, Mixture, fit_groups
from fusewise.automatic._rows import Rows
from fusewise.automatic._tree import MergeTree, fusion_tree
from fusewise.kernels import Index, Labels, Mask, Real, compiled, in_ranges
from fusewise.observations import Quadratics, group_means
from fusewise.pairs import nearest_expected

#: Neighbours of each row.
NEIGHBORS = 15
#: Largest number of clusters considered, limited to one for every four rows.
MOST_CLUSTERS = 25
#: With hints, partitions into so many groups more are compared: hints may join some of them.
MOST_JOINED = 10
#: Rows of the smallest of many clusters, and of a rare one.
FEWEST = 5.0
#: With copies, a cluster has at least so many different rows, or this share of all rows.
FEWEST_DIFFERENT, MANY_COPIES = 3.0, 0.1
#: Spread within a cluster assumed while fusing, as a share of the variance along an axis of the subspace.
WITHIN_SHARE = 0.1


def grow(rows: Rows) -> MergeTree:
    """Merge tree on the graph of nearest neighbours; rows far from all others have less weight (Student-t weights)."""
    evidence = rows.evidence
    n, r = evidence.shape
    pairs = nearest_expected(rows.places, rows.covariances, min(NEIGHBORS, n - 1))
    marginal = evidence.together.marginal(WITHIN_SHARE * rows.variances.mean() * np.eye(r)[None])
    scale = marginal.undone[0, 0, 0]  # coordinates in units of the spread
    gram = scale**2 * (np.eye(r) - marginal.inverse.transpose(2, 0, 1))
    target = scale * marginal.target.T
    together = np.zeros(n, np.intp)
    one = fit_groups(evidence, together, rows.within(together), np.diag(rows.variances), "scale")
    weights = (TAIL + evidence.dimensions) / (TAIL + one.log_densities(evidence)[1][:, 0])
    quadratics = Quadratics(gram[evidence.pattern] * weights[:, None, None], target * weights[:, None], np.zeros(n))
    return fusion_tree(quadratics, pairs)


def candidate_nodes(
    tree: MergeTree,
    smallest: float,
    n_clusters: int | None,
    most: int = MOST_CLUSTERS,
    copies: Real | None = None,
    hints: Hints = NO_HINTS,
) -> list[list[int]]:
    """Candidates along the tree, as nodes of it; the last has `n_clusters` groups if given.

    With `copies` (``shares_of_copies``), a group has some different rows, or a large share of all. With hints there are
    more candidates, as hints may join groups.
    """
    room = MOST_JOINED if hints else 0
    most = (min(most, max(1, tree.n_points // 4)) if n_clusters is None else n_clusters) + room
    found = tree.partitions(smallest, most, allowed_nodes(tree, smallest, copies))
    if n_clusters is not None and len(found) < n_clusters:
        found = tree.partitions(1, n_clusters)  # this many clusters exist only if small ones are allowed
    if hints and place(np.zeros((hints.n_blocks, len(found))), hints.conflicts) is None:
        found = tree.partitions(1, most + int(hints.apart.sum(axis=1).max()))
    return found


def allowed_nodes(tree: MergeTree, smallest: float, copies: Real | None) -> Mask:
    """Nodes that may be groups: large enough, and with some different rows or a large share of all."""
    large = tree.sizes >= smallest
    if copies is None:
        return large
    different = tree.totals(copies) >= min(FEWEST_DIFFERENT, smallest) - 0.01  # rounding
    return large & (different | (tree.sizes >= MANY_COPIES * tree.n_points))


def partitions(
    tree: MergeTree,
    places: Real,
    smallest: float,
    n_clusters: int | None,
    most: int = MOST_CLUSTERS,
    copies: Real | None = None,
    hints: Hints = NO_HINTS,
) -> list[Labels]:
    """Candidates along the tree (``candidate_nodes``), small parts joined to the nearest group."""
    found = candidate_nodes(tree, smallest, n_clusters, most, copies, hints)
    return [labels_of(tree, nodes, places) for nodes in found]


def labels_of(tree: MergeTree, nodes: list[int], places: Real) -> Labels:
    """The group of each row; a row under none of the nodes is in the group with the nearest centre."""
    labels = np.full(tree.n_points, -1, dtype=np.intp)
    for k, node in enumerate(nodes):
        labels[tree.members(node)] = k
    small = np.flatnonzero(labels < 0)
    if not len(small):
        return labels
    labels[small] = cKDTree(group_means(places, labels)).query(places[small])[1]
    return labels


#: Rounds in which the common spread and the cuts are computed in turn, at most.
TURNS = 5
#: Rounds of EM for one group, at most; they end when its likelihood gains less than this, in nats.
GROUP_ROUNDS, GAINED = 8, 0.2
#: The first spread is that within the smallest groups of at least so many rows, plus one for each dimension.
FIRST_ROWS = 4
#: By which factor these groups grow as long as their spread shows nothing.
LARGER = 4
#: Of a branch with twice as many rows, some are looked at; all, if the result is within so many standard errors.
LOOKED_AT, SURE = 400, 6.0


class TreeBranches(NamedTuple):
    """The joins of a tree whose two sides are both large, from the leaves to the root.

    Attributes
    ----------
    top : the node of each branch: one with all rows that hang on it, also those that join it singly.
    left, right : the branches it splits into, -1 if it does not.
    root : the branch with all rows.
    """

    top: Index
    left: Index
    right: Index
    root: int


def branches(tree: MergeTree, large: Mask) -> TreeBranches:
    """Leave out the small parts of a tree: nodes that are not `large`."""
    n = tree.n_points
    below = np.full(2 * n - 1, -1, np.intp)  # the branch that a node ends in
    top: list[int] = []
    sides: list[tuple[int, int]] = []
    for node, (one, other) in enumerate(zip(*tree.joined, strict=True), n):
        if not large[node]:
            continue
        left, right = int(below[one]), int(below[other])
        if (left < 0) == (right < 0):
            below[node] = len(top)
            top.append(node)
            sides.append((left, right))
        else:  # the rest of the node is small: the branch grows
            below[node] = max(left, right)
            top[below[node]] = node
    pairs = np.array(sides, np.intp).reshape(-1, 2)
    return TreeBranches(np.array(top, np.intp), pairs[:, 0], pairs[:, 1], int(below[-1]))


def best_cuts(tree: MergeTree, rows: Rows, large: Mask, describe: Callable[[Labels], Mixture]) -> list[int]:
    """The nodes of the best partition along a tree into however many groups, of nodes that are `large`.

    `describe` fits the mixture of a partition, of which the common spread is taken.
    """
    r = rows.evidence.shape[1]
    shape = branches(tree, large)
    price = ((r + 2) / 2 + 1) * log(tree.n_points)
    nodes: list[int] = []
    size = r + FIRST_ROWS
    while len(nodes) <= 1 and size < tree.n_points / 2:  # too small a spread shows nothing
        first = branches(tree, large & (tree.sizes >= size))
        again = [int(node) for node in first.top[first.left < 0]]
        for _ in range(TURNS):
            nodes, mixture = again, describe(labels_of(tree, again, rows.places))
            again = cut(tree, rows, shape, np.einsum("k,kij->ij", mixture.shares, mixture.spreads), price)
            if len(again) <= 1 or again == nodes:
                break
        nodes = again
        size *= LARGER
    return nodes or [2 * tree.n_points - 2]


def cut(tree: MergeTree, rows: Rows, shape: TreeBranches, common: Real, price: float) -> list[int]:
    """The nodes of the best partition for a given common spread and cost of a cut."""
    scores = Scores(tree, rows, shape, common)
    best, kept = scores.alone.copy(), np.ones(len(scores.alone), bool)
    for k, (left, right) in enumerate(zip(shape.left.tolist(), shape.right.tolist(), strict=True)):
        if left < 0:
            continue
        parts = best[left] + best[right] + scores.rest[k] - price
        if abs(best[k] - parts) < SURE * scores.error[k]:
            best[k] = scores.exactly(k)
        kept[k] = best[k] >= parts
        best[k] = max(best[k], parts)
    nodes, waiting = [], [shape.root]
    while waiting:
        k = waiting.pop()
        if kept[k]:
            nodes.append(int(shape.top[k]))
        else:
            waiting += [int(shape.left[k]), int(shape.right[k])]
    return sorted(nodes)


class Scores:
    """How well the branches of a tree are explained as one group each.

    Of a branch of many rows some are looked at, at equal steps along the tree.

    Attributes
    ----------
    alone, error : log-likelihood of each branch, and the standard error of it (0 where all rows are looked at).
    rest : log-likelihood of the rows of a branch that are on neither side, given the side that explains them better.
    fits : B x (r + 1), the centre and the size tau of each branch.
    metric : U x r x r, the M of each pattern of missing values.
    """

    def __init__(self, tree: MergeTree, rows: Rows, shape: TreeBranches, common: Real):
        evidence, r = rows.evidence, len(common)
        inverse = np.linalg.inv(regular(common))
        precision = evidence.precision.transpose(2, 0, 1)
        self.metric = np.ascontiguousarray(inverse - inverse @ np.linalg.inv(precision + inverse) @ inverse)
        order, begin = tree.layout
        self._rows = (
            np.ascontiguousarray(evidence.places.T[order]),
            self.metric,
            evidence.pattern[order],
            evidence.dimensions[order].astype(float),
        )
        begin = begin[shape.top]
        self._ends = np.column_stack([begin, begin + tree.sizes[shape.top]])
        count = len(self._ends)
        self.fits, self.alone, self.error, self.rest = np.zeros((count, r + 1)), *np.zeros((3, count))
        in_ranges(count, int(np.minimum(tree.sizes[shape.top], LOOKED_AT).mean()) * r * r * GROUP_ROUNDS, self._fit)
        sides = np.column_stack([shape.left, shape.right])
        _place_rest(*self._rows, self._ends, sides, self.fits, self.rest)

    def _fit(self, first: int, last: int, most: int = 0) -> None:
        most = most or LOOKED_AT
        _fit_each(*self._rows, self._ends, self.fits, self.alone, self.error, most, first, last)

    def exactly(self, k: int) -> float:
        """The log-likelihood of a branch, from all of its rows."""
        self._fit(k, k + 1, int(self._ends[k, 1] - self._ends[k, 0]))
        return float(self.alone[k])


@compiled(shapes=("N r", "U r r", "N", "N", "B 2", "B more", "B", "B", "", "", ""))
def _fit_each(
    places: Any, metric: Any, pattern: Any, dimensions: Any, ends: Any, fits: Any, alone: Any, error: Any, most: int,
    first: int, last: int,
) -> None:  # fmt: skip
    """Fit centre and size of each branch from `first` to before `last`; store them, and the log-likelihood."""
    r = places.shape[1]
    distances, weights, which = np.empty(2 * most), np.empty(2 * most), np.empty(2 * most, np.int64)
    system, mean = np.empty((r, r)), np.empty(r)
    for b in range(first, last):
        size = ends[b, 1] - ends[b, 0]
        step = max(1, size // most)
        n = (size + step - 1) // step
        for i in range(n):
            which[i], weights[i] = ends[b, 0] + i * step, 1.0
        tau, before, fit, squared = 1.0, -np.inf, 0.0, 0.0
        for _ in range(GROUP_ROUNDS):
            _mean(places, metric, pattern, which[:n], weights, system, mean)
            squares, seen, fit, squared = r + 2.0, r + 2.0, 0.0, 0.0
            for i in range(n):
                row = which[i]
                distances[i] = _distance(places[row], mean, metric[pattern[row]])
                squares += distances[i] * (TAIL + dimensions[row]) / (TAIL + distances[i] / tau)
                seen += dimensions[row]
            tau = squares / seen
            for i in range(n):
                d = dimensions[which[i]]
                density = _log_density(distances[i], tau, d)
                fit, squared = fit + density, squared + density * density
                weights[i] = (TAIL + d) / (TAIL + distances[i] / tau)
            if fit - before < GAINED:
                break
            before = fit
        for k in range(r):
            fits[b, k] = mean[k]
        fits[b, r] = tau
        alone[b] = size / n * max(fit, before) + size * np.log(size)
        error[b] = size * np.sqrt(max(squared / n - (fit / n) ** 2, 0.0) / n) if step > 1 else 0.0


@compiled(shapes=("N r", "U r r", "N", "N", "B 2", "B 2", "B more", "B"))
def _place_rest(
    places: Any, metric: Any, pattern: Any, dimensions: Any, ends: Any, sides: Any, fits: Any, rest: Any
) -> None:
    """Log-likelihood of the rows of each branch that are on neither side, given the side that explains them better."""
    r = places.shape[1]
    for b in range(len(ends)):
        if sides[b, 0] < 0:
            continue
        begin = min(ends[sides[b, 0], 0], ends[sides[b, 1], 0])  # the two sides are next to each other
        end = max(ends[sides[b, 0], 1], ends[sides[b, 1], 1])
        for i in range(ends[b, 0], ends[b, 1]):
            if begin <= i < end:
                continue
            top = -np.inf
            for s in range(2):
                side = sides[b, s]
                distance = _distance(places[i], fits[side, :r], metric[pattern[i]])
                size = np.log(ends[side, 1] - ends[side, 0])
                top = max(top, size + _log_density(distance, fits[side, r], dimensions[i]))
            rest[b] += top


@compiled
def _log_density(distance: float, tau: float, d: float) -> float:
    """Of Student's distribution with D² in units of W; the same constants are left out for all groups."""
    return float(-0.5 * (d * np.log(tau) + (TAIL + d) * np.log1p(distance / (TAIL * tau))))


@compiled
def _distance(place: Any, mean: Any, metric: Any) -> float:
    """(v - mu)' M (v - mu)."""
    r, total = len(mean), 0.0
    for i in range(r):
        row, away = metric[i], 0.0
        for j in range(r):
            away += row[j] * (place[j] - mean[j])
        total += away * (place[i] - mean[i])
    return max(total, 0.0)


@compiled
def _mean(places: Any, metric: Any, pattern: Any, which: Any, weights: Any, system: Any, right: Any) -> None:
    """Solve sum_i w_i M_i mu = sum_i w_i M_i v_i over some rows; the solution is in `right`."""
    r = places.shape[1]
    for j in range(r):
        right[j] = 0.0
        for k in range(r):
            system[j, k] = 0.0
    for i in range(len(which)):
        own, place, weight = metric[pattern[which[i]]], places[which[i]], weights[i]
        for j in range(r):
            row, total = own[j], 0.0
            for k in range(j + 1):
                system[j, k] += weight * row[k]
            for k in range(r):
                total += row[k] * place[k]
            right[j] += weight * total
    for j in range(r):
        for k in range(j):
            system[k, j] = system[j, k]
    tiny = 1e-9 * np.trace(system) + 1e-300  # a direction that no row determines stays at the origin
    right[:] = np.linalg.solve(system + tiny * np.eye(r), right)
