"""The lam at which each partition of a merge tree begins."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array

from fusewise.automatic.tree.merge_tree import MergeTree
from fusewise.kernels.types import Index, Labels, Real


def join_heights(tree: MergeTree, finest_first: tuple[Labels, ...]) -> Real:
    """The lam from which on each partition holds: that of the join that produced it from the previous one.

    For the first partition it is the largest lam of a join in the tree below that of the second.
    """
    heights = np.zeros(len(finest_first))
    for k in range(1, len(finest_first)):
        fine, coarse = finest_first[k - 1], finest_first[k]
        above = successors(fine, coarse)
        merged = np.flatnonzero(np.bincount(above[above >= 0]) > 1)
        heights[k] = max((_last_join(tree, fine, np.flatnonzero(above == group)) for group in merged), default=0.0)
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


def _last_join(tree: MergeTree, labels: Labels, groups: Index) -> float:
    """The largest lam at which two of some groups join: that of the lowest node that has most of each of them.

    "Most", because a partition assigns small parts split off by the tree to the nearest group, wherever they are.
    """
    totals = np.bincount(labels[labels >= 0])
    node, inside = 2 * tree.n_points - 2, totals[groups]
    while node >= tree.n_points:
        small, large = sorted(tree.children(node), key=tree.sizes.__getitem__)
        some = labels[tree.members(small)]
        part = np.bincount(some[some >= 0], minlength=len(totals))[groups]
        for child, within in ((small, part), (large, inside - part)):
            if (2 * within > totals[groups]).all():
                node, inside = child, within
                break
        else:
            break
    return float(tree.linkage[node - tree.n_points, 2])
