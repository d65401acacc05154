"""The lam at which each partition of a merge tree begins."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array

from fusewise.automatic.merge_tree import MergeTree
from fusewise.kernels.types import Index, Labels, Real


def join_heights(tree: MergeTree, finest_first: tuple[Labels, ...]) -> Real:
    """The lam from which on each partition holds: that of the join that produced it from the previous one.

    For the first partition it is the largest lam of a join in the tree below that of the second.
    """
    order = tree.members(2 * tree.n_points - 2)
    position = np.empty(tree.n_points, np.intp)
    position[order] = np.arange(tree.n_points)
    heights = np.zeros(len(finest_first))
    for k in range(1, len(finest_first)):
        fine, coarse = finest_first[k - 1], finest_first[k]
        above = successors(fine, coarse)
        pairs = [(a, b) for b in range(len(above)) for a in range(b) if above[a] == above[b]]
        heights[k] = max((_join_height(tree, fine[order], position, a, b) for a, b in pairs), default=0.0)
    if len(heights) > 1:
        below = tree.linkage[:, 2][tree.linkage[:, 2] < heights[1]]
        heights[0] = below[-1] if len(below) else 0.0
    return np.maximum.accumulate(heights)


def successors(fine: Labels, coarse: Labels) -> Index:
    """For each group of a partition, the group of a coarser partition that contains most of its rows."""
    kept = (fine >= 0) & (coarse >= 0)
    shape = int(fine.max(initial=-1)) + 1, int(coarse.max(initial=-1)) + 1
    counts = coo_array((np.ones(kept.sum()), (fine[kept], coarse[kept])), shape=shape).toarray()
    return np.where(counts.any(axis=1), counts.argmax(axis=1) if shape[1] else -1, -1)


def _join_height(tree: MergeTree, ordered: Labels, position: Index, a: int, b: int) -> float:
    """The lam at which most of group a and most of group b are under one node.

    "Most", because a partition assigns small parts split off by the tree to the nearest group, wherever they are.
    """
    totals = np.array([np.concatenate([[0], np.cumsum(ordered == group)]) for group in (a, b)])
    node = 2 * tree.n_points - 2
    while node >= tree.n_points:
        for child in tree.children(node):
            begin = position[tree.members(child)[0]]
            inside = totals[:, begin + tree.sizes[child]] - totals[:, begin]
            if (2 * inside > totals[:, -1]).all():
                node = child
                break
        else:
            break
    return float(tree.linkage[node - tree.n_points, 2])
