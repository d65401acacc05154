"""Hints from people: rows that belong to one cluster, and rows that do not.

Rows that must be together form a *block*; two blocks are in *conflict* if some rows of them must not be together. A
class of known labels is a block in conflict with all other classes. The tree never fuses groups in conflict; how
the components of a mixture obey hints is the subject of ``settling``.

Blocks of rows placed in clusters, those in conflict in different ones: a graph colouring in which colours differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from fusewise.kernels import Index, Labels, Mask, Real
from fusewise.support import Dims, PositionArray, Record

#: Added to the log-density of a component in which a row may not be.
FAR = -1e4


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

    @property
    def are_classes(self) -> bool:
        """Whether each block is in conflict with every other, as known labels are."""
        return 2 * len(self.conflicts) == self.n_blocks * (self.n_blocks - 1) > 0

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
        return self._on(here, known[here])

    def only(self, kept: Mask) -> Hints:
        """The hints on some of the rows with hints, given in the order of `rows`; blocks without any are left out."""
        return self._on(self.rows[kept], self.block[kept])

    def _on(self, rows: Index, block: Index) -> Hints:
        """Rows that belong to some of the blocks, which are numbered anew."""
        blocks, numbered = np.unique(block, return_inverse=True)
        number = np.full(self.n_blocks, -1, np.intp)
        number[blocks] = np.arange(len(blocks))
        conflicts = number[self.conflicts]
        return Hints(rows, numbered, conflicts[(conflicts >= 0).all(axis=1)])

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


def given_to_nearest(labels: Labels, rows: Index, distances: Real, hints: Hints) -> Labels:
    """Give some rows to the nearest group, but those with hints to one that is allowed.

    A row goes to a group that holds others of its block, else to one without rows in conflict, else to a new one.

    Parameters
    ----------
    labels : the group of each row, -1 for those that have none.
    rows : these.
    distances : their squared distances from each group.
    hints : blocks and conflicts.
    """
    n_groups, block = distances.shape[1], hints.block_of(len(labels))
    labels = labels.copy()
    labels[rows] = distances.argmin(axis=1)
    hinted = np.flatnonzero(block[rows] >= 0)
    inside = np.setdiff1d(hints.rows, rows)
    holds = np.zeros((hints.n_blocks, n_groups + hints.n_blocks), bool)
    holds[block[inside], labels[inside]] = True
    for row, own, distance in zip(rows[hinted], block[rows[hinted]], distances[hinted], strict=True):
        allowed = np.flatnonzero(holds[own] if holds[own].any() else ~holds[hints.apart[own]].any(axis=0))
        known = allowed[allowed < n_groups]
        labels[row] = known[distance[known].argmin()] if len(known) else allowed[0]
        holds[own, labels[row]] = True
    return np.asarray(np.unique(labels, return_inverse=True)[1])


#: Steps of the search for a colouring before it gives up.
STEPS = 20_000


def place(scores: Real, conflicts: Index) -> Index | None:
    """Cluster of each block with the largest sum of scores, conflicts apart; None if none was found.

    Exact for blocks without conflicts, and for those that are all in conflict with each other (an assignment problem).
    Otherwise blocks with the fewest clusters left are placed first, each in the best that is free, going back where
    none is; then single blocks move as long as that gains.

    Parameters
    ----------
    scores : M x K.
    conflicts : Q x 2, pairs of blocks, each once.
    """
    chosen = np.asarray(scores.argmax(axis=1))
    if not len(conflicts):
        return chosen
    m = len(scores)
    part = connected_components(coo_matrix((np.ones(len(conflicts)), conflicts.T), (m, m)), directed=False)[1]
    edges = np.bincount(part[conflicts[:, 0]], minlength=part.max() + 1)
    for k in np.flatnonzero(edges):
        blocks = np.flatnonzero(part == k)
        if len(blocks) * (len(blocks) - 1) == 2 * edges[k]:
            if len(blocks) > scores.shape[1]:
                return None
            chosen[blocks] = linear_sum_assignment(scores[blocks], maximize=True)[1]
            continue
        own = np.searchsorted(blocks, conflicts[part[conflicts[:, 0]] == k])
        near = [np.concatenate([own[own[:, 0] == b, 1], own[own[:, 1] == b, 0]]) for b in range(len(blocks))]
        coloured = _coloured(scores[blocks], near)
        if coloured is None:
            return None
        chosen[blocks] = coloured
    return chosen


def _coloured(scores: Real, near: list[Index]) -> Index | None:
    """A colouring by depth-first search, improved by single moves."""
    m, k = scores.shape
    chosen, barred = np.full(m, -1), np.zeros((m, k), np.intp)
    best = np.sort(scores, axis=1)
    eager = (best[:, -1] - best[:, -2] if k > 1 else np.zeros(m)) / (1.0 + np.ptp(best))
    path: list[tuple[int, list[int]]] = []
    for _ in range(STEPS + m):
        if len(path) == m:
            return _improved(scores, near, chosen, barred)
        free = np.where(chosen < 0, (barred == 0).sum(axis=1), k + 1)
        block = int(np.argmin(free - 0.5 * eager))
        path.append((block, [c for c in np.argsort(scores[block], kind="stable").tolist() if not barred[block, c]]))
        while path:
            block, left = path[-1]
            if chosen[block] >= 0:
                barred[near[block], chosen[block]] -= 1
                chosen[block] = -1
            if left:
                chosen[block] = left.pop()
                barred[near[block], chosen[block]] += 1
                break
            path.pop()
        else:
            return None
    return None


def _improved(scores: Real, near: list[Index], chosen: Index, barred: Index) -> Index:
    """Move single blocks to better clusters that are free, until none gains."""
    moved = True
    while moved:
        moved = False
        for block, others in enumerate(near):
            better = int(np.where(barred[block] == 0, scores[block], -np.inf).argmax())
            if scores[block, better] > scores[block, chosen[block]]:
                barred[others, chosen[block]] -= 1
                barred[others, better] += 1
                chosen[block], moved = better, True
    return chosen
