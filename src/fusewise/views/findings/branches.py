"""The condensed merge tree: the groups along a trail and the joins between them, laid out for drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fusewise.automatic.tree import successors
from fusewise.kernels import Labels
from fusewise.views.findings.findings import Findings
from fusewise.views.findings.trail import Step, Trail

#: Maximum number of groups at the bottom of the tree.
MOST_LEAVES = 40


@dataclass(frozen=True)
class Join:
    """Two branches that merge.

    Attributes
    ----------
    left, right : lower ends of the branches: (x, lam at which the branch starts; 0 for a leaf).
    lam : strength of the fusion penalty at which they merge.
    step : step of the trail from which on they are merged.
    clusters : cluster of the result under each branch; -1 if a branch contains several.
    """

    left: tuple[float, float]
    right: tuple[float, float]
    lam: float
    step: int
    clusters: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Branches:
    """A dendrogram.

    Attributes
    ----------
    sizes, clusters : for each leaf from left to right, its number of rows, and the cluster most of them belong to.
    joins : the joins in order of increasing lam.
    """

    sizes: tuple[int, ...]
    clusters: tuple[int, ...]
    joins: tuple[Join, ...]


@dataclass
class _Branch:
    """A node of the tree under construction."""

    leaves: list[int]
    lam: float
    clusters: set[int]
    x: float = 0.0


#: Two branches, the merged branch, and the step at which they merge.
Merge: TypeAlias = tuple[_Branch, _Branch, _Branch, int]


def branches_of(found: Findings) -> Branches | None:
    """Dendrogram from the finest partition compared upwards; None if there are no two groups."""
    steps = found.trail.steps
    compared = (k for k, s in enumerate(steps) if np.isfinite(s.criterion) and 2 <= _n_leaves(s) <= MOST_LEAVES)
    first = next(compared, None)
    if first is None:
        return None
    rows = found.trail.rows
    start, labels, weights = steps[first].partition, found.labels[found.drawn][rows], found.weights[rows]
    weights = weights * (found.weights.sum() / weights.sum())  # the rows of the trail represent all rows
    leaves = range(_n_leaves(steps[first]))
    clusters = [_majority(labels[start == leaf]) for leaf in leaves]
    sizes = [round(float(weights[start == leaf].sum())) for leaf in leaves]
    merges, roots = _merge(found.trail, first, clusters)
    order = [leaf for root in roots for leaf in root.leaves]
    where = {leaf: x for x, leaf in enumerate(order)}
    return Branches(
        tuple(sizes[leaf] for leaf in order),
        tuple(clusters[leaf] for leaf in order),
        tuple(_place(merge, where) for merge in merges),
    )


def _n_leaves(step: Step) -> int:
    return int(step.partition.max(initial=-1)) + 1


def _merge(trail: Trail, first: int, clusters: list[int]) -> tuple[list[Merge], list[_Branch]]:
    """Follow the groups of step `first` upwards; return the joins, and the branches left at the end."""
    standing = {leaf: _Branch([leaf], 0.0, {clusters[leaf]}) for leaf in range(len(clusters))}
    merges: list[Merge] = []
    ended: list[_Branch] = []
    for k in range(first + 1, len(trail.steps)):
        above = successors(trail.steps[k - 1].partition, trail.steps[k].partition)
        lam = trail.steps[k].lam if np.isfinite(trail.steps[k].lam) else float(k)
        after: dict[int, _Branch] = {}
        for group, branch in standing.items():
            goal = int(above[group])
            if goal < 0:  # its rows are single again: a path need not be nested
                ended.append(branch)
            elif goal in after:
                joined = _Branch(after[goal].leaves + branch.leaves, lam, after[goal].clusters | branch.clusters)
                merges.append((after[goal], branch, joined, k))
                after[goal] = joined
            else:
                after[goal] = branch
        standing = after
    return merges, [*standing.values(), *ended]


def _place(merge: Merge, where: dict[int, int]) -> Join:
    left, right, joined, step = merge
    for branch in (left, right):
        if len(branch.leaves) == 1:
            branch.x = where[branch.leaves[0]]
    joined.x = (left.x + right.x) / 2
    first, second = (next(iter(b.clusters)) if len(b.clusters) == 1 else -1 for b in (left, right))
    return Join((left.x, left.lam), (right.x, right.lam), joined.lam, step, (first, second))


def _majority(labels: Labels) -> int:
    """The most frequent label; -1 if most rows are outliers."""
    inside = labels[labels >= 0]
    return int(np.bincount(inside).argmax()) if 2 * len(inside) >= len(labels) and len(inside) else -1
