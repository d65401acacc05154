"""Hints from people: rows that belong to one cluster, and rows that do not.

Rows that must be together form a *block*; two blocks are in *conflict* if some rows of them must not be together. A
class of known labels is a block in conflict with all other classes. Components of a mixture are joined, and each block
is placed in a cluster, so that

    log p(hints | X) = sum_b log P(all rows of block b are in its cluster | X) - (unions) log N

is largest, blocks in conflict in different clusters (a graph colouring in which colours differ). The same is added to
the criterion of a partition, which then is one of the table and the hints together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp
from scipy.sparse import coo_matrix, eye, kron
from scipy.sparse.csgraph import connected_components

from fusewise.automatic._mixture import probabilities
from fusewise.kernels import Index, Labels, Mask, Real
from fusewise.support import Dims, InputError, PositionArray, Record, counted

#: Added to the log-density of a component in which a row may not be.
FAR = -1e4
#: Probability that a row with a hint lies where rows of another cluster do.
STRAY = 0.01
#: Nodes of the integer programme after which it ends with the best placement so far.
NODES = 1000
UNSATISFIED = "could not keep apart all rows of cannot_link in {}: give fewer pairs, or a larger n_clusters"


@dataclass(frozen=True, eq=False)
class Hints(Record):
    """Blocks of rows that must be together, and conflicts between blocks.

    Attributes
    ----------
    rows, block : the rows with hints, ordered by block, and the block of each, 0, 1, ...
    conflicts : Q x 2, blocks that must not be together, each pair once.
    """

    rows: Index
    block: Index
    conflicts: Index

    _rules: ClassVar = {
        "rows": PositionArray("H", below="any"),
        "block": PositionArray("H", below="any"),
        "conflicts": PositionArray("Q", "2", below="M"),
    }

    def _agree(self, dims: Dims) -> None:
        dims["any"], dims["M"] = np.iinfo(np.intp).max, self.n_blocks

    def _verify(self) -> None:
        if not np.isin(np.diff(self.block, prepend=0), (0, 1)).all() or len(np.unique(self.rows)) < len(self.rows):
            raise ValueError("Hints.block is not an order of the rows by block, each of them once")

    @property
    def n_blocks(self) -> int:
        """M."""
        return int(self.block[-1]) + 1 if len(self.block) else 0

    def __bool__(self) -> bool:
        return bool(len(self.rows))

    @cached_property
    def apart(self) -> Mask:
        """M x M, whether two blocks are in conflict."""
        apart = np.zeros((self.n_blocks, self.n_blocks), bool)
        apart[self.conflicts[:, 0], self.conflicts[:, 1]] = apart[self.conflicts[:, 1], self.conflicts[:, 0]] = True
        return apart

    def block_of(self, n_rows: int) -> Index:
        """The block of each of N rows, -1 where there is none."""
        found = np.full(n_rows, -1, np.intp)
        found[self.rows] = self.block
        return found

    def among(self, rows: Index) -> Hints:
        """The hints on some rows (ascending; some may occur several times), numbered among these."""
        known = self.block_of(1 + max(self.rows.max(initial=-1), rows.max(initial=-1)))[rows]
        here = np.flatnonzero(known >= 0)
        here = here[np.argsort(known[here], kind="stable")]
        blocks, numbered = np.unique(known[here], return_inverse=True)
        number = np.full(self.n_blocks, -1, np.intp)
        number[blocks] = np.arange(len(blocks))
        conflicts = number[self.conflicts]
        return Hints(here, numbered, conflicts[(conflicts >= 0).all(axis=1)])

    def sample(self, most: int, random: np.random.Generator) -> Index:
        """At most so many of the rows, ascending: some of each block, as far as possible."""
        order = random.permutation(len(self.rows))
        _, first = np.unique(self.block[order], return_index=True)
        rest = np.setdiff1d(np.arange(len(order)), first)
        return np.sort(self.rows[order[np.concatenate([first, rest])[:most]]])

    def sums(self, densities: Real) -> Real:
        """Sum over the rows of each block, M x K, of N x K numbers of the rows with hints."""
        return np.asarray(np.add.reduceat(densities, np.searchsorted(self.block, np.arange(self.n_blocks)), axis=0))


NO_HINTS = Hints(np.empty(0, np.intp), np.empty(0, np.intp), np.empty((0, 2), np.intp))


def place(scores: Real, conflicts: Index) -> Index | None:
    """Cluster of each block with the largest sum of scores (M x K), conflicts apart; None if there is none.

    Blocks that are all in conflict with each other are an assignment problem, others an integer programme.
    """
    m = len(scores)
    chosen = np.asarray(scores.argmax(axis=1))
    part = connected_components(coo_matrix((np.ones(len(conflicts)), conflicts.T), (m, m)), directed=False)[1]
    clashes = chosen[conflicts[:, 0]] == chosen[conflicts[:, 1]]
    for k in np.unique(part[conflicts[clashes, 0]]):
        blocks = np.flatnonzero(part == k)
        own = np.searchsorted(blocks, conflicts[part[conflicts[:, 0]] == k])
        if len(blocks) * (len(blocks) - 1) > 2 * len(own):
            found = _coloured(scores[blocks], own)
        else:
            found = linear_sum_assignment(scores[blocks], maximize=True)[1]
        if found is None or len(found) < len(blocks):
            return None
        chosen[blocks] = found
    return chosen


def _coloured(scores: Real, conflicts: Index) -> Index | None:
    """The best colouring of a graph, as an integer programme: x_bk = 1 if block b is in cluster k."""
    (m, k), q = scores.shape, len(conflicts)
    once = kron(eye(m), np.ones((1, k)))
    ends = coo_matrix((np.ones(2 * q), (np.repeat(np.arange(q), 2), conflicts.ravel())), (q, m))
    limits = [LinearConstraint(once, 1, 1), LinearConstraint(kron(ends, eye(k)), -np.inf, 1)]
    losses = scores.max(axis=1, keepdims=True) - scores
    found = milp(
        losses.ravel() / max(float(losses.max()), 1e-300),
        integrality=np.ones(losses.size, np.intp),
        bounds=Bounds(0, 1),
        constraints=limits,
        options={"node_limit": NODES},
    )
    return None if found.x is None else np.asarray(found.x.reshape(m, k).argmax(axis=1), np.intp)


class Settled(NamedTuple):
    """Components joined into clusters, and blocks placed in them."""

    group: Index  # the cluster of each component
    cluster: Index  # the cluster of each block
    value: float  # sum_b log p(rows of b in its cluster) - (unions) log N


def settle(
    densities: Real, hints: Hints, price: float, n_clusters: int | None = None, *, exactly: bool = False
) -> Settled | None:
    """Join components into clusters and place each block in one, so that the hints are likeliest.

    Components are joined greedily, those first that gain most: a block whose rows prefer two of them says that these
    are one cluster, unless it is likelier that some of the rows are strays: each lies anywhere in the table with
    probability `STRAY`, so that no single row decides. None if the conflicts need more clusters than there are
    components.

    `densities` are log p(x_i, k) of the rows with hints, in the order of ``hints.rows``; `price` is the cost of joining
    two components. There are at least `n_clusters` clusters; and if `exactly`, no more, at whatever loss.
    """
    anywhere = _anywhere(densities)
    group, columns = np.arange(densities.shape[1]), densities
    scores = hints.sums(np.logaddexp(columns, anywhere))
    cluster = place(scores, hints.conflicts)
    if cluster is None:
        return None
    blocks = np.arange(hints.n_blocks)
    value = float(scores[blocks, cluster].sum())
    while columns.shape[1] > (n_clusters or 1):
        best, found = -np.inf if exactly else value + price, None
        for a, b in combinations(range(columns.shape[1]), 2) if exactly else _shared(columns, hints):
            both = np.delete(columns, b, axis=1)
            both[:, a] = np.logaddexp(columns[:, a], columns[:, b])
            summed = np.delete(scores, b, axis=1)
            summed[:, a] = hints.sums(np.logaddexp(both[:, a : a + 1], anywhere))[:, 0]
            placed = place(summed, hints.conflicts)
            if placed is not None and (total := float(summed[blocks, placed].sum())) > best:
                best, found = total, (a, b, both, summed, placed)
        if found is None:
            break
        a, b, columns, scores, cluster = found
        group = np.where(group == b, a, group)
        group = np.where(group > b, group - 1, group)
        value = best
    unions = densities.shape[1] - columns.shape[1]
    return Settled(group, cluster, value - unions * price)


def _anywhere(densities: Real) -> Real:
    """The log-density of a stray of each row: it lies anywhere in the table."""
    return np.asarray(np.logaddexp.reduce(densities, axis=1, keepdims=True) + np.log(STRAY))


def _shared(columns: Real, hints: Hints) -> Iterator[tuple[int, int]]:
    """Pairs of clusters a < b that are each the likeliest for some row of one block."""
    likeliest = np.zeros((hints.n_blocks, columns.shape[1]))
    likeliest[hints.block, columns.argmax(axis=1)] = 1
    together = np.triu(likeliest.T @ likeliest, 1)
    for a, b in np.argwhere(together > 0):
        yield int(a), int(b)


def held(densities: Real, hints: Hints, n_clusters: int | None) -> Real | float:
    """N x K, zero where a row may be in a component, `FAR` where its block is in another cluster; 0 without hints."""
    settled = settle(densities[hints.rows], hints, float(np.log(len(densities))), n_clusters) if hints else None
    if settled is None:
        return 0.0
    away = np.zeros(densities.shape)
    away[hints.rows] = np.where(settled.cluster[hints.block][:, None] == settled.group, 0.0, FAR)
    return away


def log_odds(densities: Real, hints: Hints, worth: float, n_clusters: int | None) -> float | None:
    """log p(hints | X) of the components of a mixture; None if they cannot hold, or not in `n_clusters` clusters.

    Strays matter to which components are joined, but not here: a partition has to explain every row with a hint.
    """
    price, densities = float(np.log(worth * len(densities))) / worth, densities[hints.rows]
    settled = settle(densities, hints, price, n_clusters)
    if settled is None or (n_clusters is not None and settled.group.max() + 1 != n_clusters):
        return None
    own = np.where(settled.cluster[hints.block][:, None] == settled.group, densities, -np.inf)
    odds = np.logaddexp.reduce(own, axis=1) - np.logaddexp.reduce(densities, axis=1)
    return worth * (float(odds.sum()) - price * (len(settled.group) - int(settled.group.max()) - 1))


def joined(densities: Real, hints: Hints, price: float, pairs: list[tuple[int, int]], n_clusters: int | None) -> Index:
    """The cluster of each component (see `settle`).

    The components of `pairs` are joined as well, in this order, where no blocks in conflict are in their clusters.
    """
    settled = settle(densities, hints, price, n_clusters, exactly=n_clusters is not None)
    if settled is None:
        raise InputError(UNSATISFIED.format(counted(densities.shape[1], "cluster")))
    group, cluster = settled.group, settled.cluster
    for a, b in pairs:
        one, other = group[a], group[b]
        if one != other and not hints.apart[np.ix_(cluster == one, cluster == other)].any():
            group, cluster = (np.where(each == other, one, each) for each in (group, cluster))
    return np.asarray(np.unique(group, return_inverse=True)[1])


def obeyed(densities: Real, hints: Hints) -> tuple[Labels, Real]:
    """The cluster of each row with hints, and its posterior: that of its block, without clusters it must not be in."""
    scores = hints.sums(np.logaddexp(densities, _anywhere(densities)))
    cluster = place(scores, hints.conflicts)
    if cluster is None:
        raise InputError(UNSATISFIED.format(counted(densities.shape[1], "cluster")))
    taken = np.zeros(scores.shape, bool)
    for one, other in (hints.conflicts.T, hints.conflicts.T[::-1]):
        taken[one, cluster[other]] = True
    posterior = probabilities(np.where(taken, scores.min(axis=1, keepdims=True) + FAR, scores))[0]
    return cluster[hints.block], posterior[hints.block]
