"""Blocks of rows placed in clusters, those in conflict in different ones: a graph colouring in which colours differ."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from fusewise.kernels.types import Index, Real

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
