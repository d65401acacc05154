"""A merge tree: nested partitions of points.

The lam at which each partition of a merge tree begins.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array

from fusewise.kernels.checked import Checked
from fusewise.kernels.field_rules import Array, Dims, Number
from fusewise.kernels.types import Index, Labels, Mask, Real


@dataclass(frozen=True, eq=False)
class MergeTree(Checked):
    """Nested partitions of N points, as a binary tree.

    Attributes
    ----------
    linkage : (N - 1) x 4, in SciPy's form: the two nodes joined (points are 0 .. N-1, then joins in order), the lam
        at which they join (non-decreasing), and the number of points in the new node.
    forced : how many joins at the top were made only to complete the tree: hints keep their two nodes apart.
    """

    linkage: npt.NDArray[np.float64]
    forced: int = 0

    _rules: ClassVar = {"linkage": Array("joins", "4", low=0), "forced": Number(low=0, whole=True)}

    def _agree(self, dims: Dims) -> None:
        dims["N"] = dims["joins"] + 1

    def _verify(self) -> None:
        if self.forced >= self.n_points:
            raise ValueError("MergeTree.forced exceeds the number of joins")
        self._verify_linkage()

    def _verify_linkage(self) -> None:
        """Every node but the last is joined once, to a later one: walks through the tree then end."""
        n, pairs = self.n_points, self.linkage[:, :2]
        parents = n + np.arange(n - 1)
        once = np.array_equal(np.sort(pairs, axis=None), np.arange(2 * n - 2))
        if not once or np.any(pairs >= parents[:, None]) or np.any(np.diff(self.linkage[:, 2]) < 0):
            raise ValueError("MergeTree.linkage is not a tree")
        if not np.array_equal(self.linkage[:, 3], self.sizes[pairs.astype(np.intp)].sum(axis=1)):
            raise ValueError("MergeTree.linkage does not count its points")

    @property
    def n_points(self) -> int:
        """N."""
        return len(self.linkage) + 1

    @cached_property
    def sizes(self) -> Index:
        """Number of points under each of the 2N - 1 nodes."""
        return np.concatenate([np.ones(self.n_points, np.intp), self.linkage[:, 3].astype(np.intp)])

    @cached_property
    def layout(self) -> tuple[Index, Index]:
        """Points in drawing order, in which those of a node are consecutive, and where each node begins in it."""
        n, counts = self.n_points, self.sizes.tolist()
        begin = [0] * (2 * n - 1)
        node = 2 * n - 1
        for left, right in zip(*(reversed(each) for each in self.joined), strict=True):
            node -= 1
            begin[left] = begin[node]
            begin[right] = begin[node] + counts[left]
        order = np.empty(n, np.intp)
        order[begin[:n]] = np.arange(n)
        return order, np.array(begin, np.intp)

    @cached_property
    def joined(self) -> tuple[list[int], list[int]]:
        """The first and the second node of each join; lists are what loops in Python read fastest."""
        first, second = self.linkage[:, :2].astype(np.intp).T.tolist()
        return first, second

    def children(self, node: int) -> tuple[int, int]:
        """The two nodes joined in `node`."""
        left, right = self.joined
        return left[node - self.n_points], right[node - self.n_points]

    def members(self, node: int) -> Index:
        """Points under a node."""
        order, begin = self.layout
        return order[begin[node] : begin[node] + self.sizes[node]]

    def totals(self, of_points: Real) -> Real:
        """Sum of a number of each point over the points under each of the 2N - 1 nodes."""
        order, begin = self.layout
        sums = np.concatenate([[0.0], np.cumsum(of_points[order])])
        return np.asarray(sums[begin + self.sizes] - sums[begin])

    def partitions(self, min_size: float, max_groups: int, allowed: Mask | None = None) -> list[list[int]]:
        """Partitions from the root down: for K = 1, 2, ... the first list of K nodes with at least `min_size` points.

        With `allowed`, a flag for each node, other nodes are left out as well.

        Joins are undone in decreasing order of lam. A part smaller than `min_size` is left out of the partition (the
        caller assigns it); a node that would only split into such parts is kept whole. Forced joins are undone in all
        of the partitions, whatever the size of the parts.
        """
        root = 2 * self.n_points - 2
        (left, right), n = self.joined, self.n_points
        large = ((self.sizes >= min_size) & (True if allowed is None else allowed)).tolist()
        groups = {root: None}  # in the order in which they were found
        for node in range(root, root - self.forced, -1):
            del groups[node]
            groups |= dict.fromkeys(self.children(node))
        found = [list(groups)]
        latest = [-node for node in groups if node >= n]  # may be split: the one joined last comes first
        heapq.heapify(latest)
        while latest and len(found) + self.forced < max_groups:
            node = -heapq.heappop(latest)
            parts = (left[node - n], right[node - n])
            if not (large[parts[0]] or large[parts[1]]):
                continue
            del groups[node]
            for part in parts:
                if large[part]:
                    groups[part] = None
                    if part >= n:
                        heapq.heappush(latest, -part)
            if len(groups) > len(found) + self.forced:
                found.append(list(groups))
        return found


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
