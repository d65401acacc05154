"""The trail: the sequence of partitions in which rows fuse, from single rows to one group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from fusewise.automatic import Choice
from fusewise.automatic.tree import MergeTree, join_heights
from fusewise.fusion import FusionPath
from fusewise.kernels import Index, Labels, Real
from fusewise.observations import group_means

if TYPE_CHECKING:
    from fusewise.views.findings.findings import Findings

#: Below the candidates, each cut of the tree has fewer groups than the last by this factor.
CUT_FACTOR = 1.5


@dataclass(frozen=True, eq=False)
class Step:
    """One partition of the trail.

    Attributes
    ----------
    labels : group of each row of the trail; -1 for a single row. Those of the chosen step are the clusters of the
        result, in which rows were assigned once more, groups may have been joined, and -1 is an outlier.
    partition : the groups before that, as the tree or the path has them.
    lam : strength of the fusion penalty from which on this partition holds; NaN if unknown.
    criterion : the criterion of the choice, larger is better; NaN if not computed.
    places : coordinates of the rows' centres in the plane.
    centers : centres of the groups if all rows of a group share one; None if each row has its own.
    """

    labels: Labels
    partition: Labels
    lam: float
    criterion: float
    places: Real
    centers: Real | None

    @property
    def n_clusters(self) -> int:
        """Number of groups."""
        return int(self.labels.max(initial=-1)) + 1

    @property
    def n_groups(self) -> int:
        """Number of groups, with each row that is single in the partition counted as one."""
        return self.n_clusters + int(np.count_nonzero(self.partition < 0))


@dataclass(frozen=True, eq=False)
class Trail:
    """Steps in order of increasing lam.

    Attributes
    ----------
    steps : the steps; empty if the model was fitted at a given lam.
    rows : rows of the trail, as indices into the drawn rows: all, or those on which the clusters were computed.
    chosen : index of the step of the result; None if there are no steps.
    criterion_name : short description of the criterion.
    """

    steps: tuple[Step, ...]
    rows: Index
    chosen: int | None
    criterion_name: str


def read_trail(found: Findings) -> Trail:
    """Read the trail of a model."""
    if isinstance(found.path, Choice):
        return _along_tree(found, found.path)
    if isinstance(found.path, FusionPath):
        return _along_path(found, found.path)
    return Trail((), np.arange(0), None, "")


def _along_path(found: Findings, path: FusionPath) -> Trail:
    """The solutions of a path as steps."""
    taken = found.model.lam_, found.model.penalty_
    chosen = max((k for k, s in enumerate(path) if (s.lam, s.penalty) == taken), default=len(path) - 1)
    lengths = _run_lengths(path.labels)
    steps = []
    for k, solution in enumerate(path):
        centers = solution.centers[found.drawn]
        rows = np.hstack([centers.real, centers.imag]) if np.iscomplexobj(centers) else centers
        places = found.plane.project(rows.astype(float))
        labels = (found.labels if k == chosen else solution.labels)[found.drawn]
        steps.append(Step(labels, solution.labels[found.drawn], float(solution.lam), lengths[k], places, None))
    name = "number of steps over which the partition stays the same"
    return Trail(tuple(steps), np.arange(len(found.drawn)), chosen, name)


def _run_lengths(partitions: list[Labels]) -> list[float]:
    """For each step, the number of consecutive steps with its partition; NaN for fewer than two groups."""
    runs: list[list[int]] = []
    for k, labels in enumerate(partitions):
        if k and np.array_equal(labels, partitions[k - 1]):
            runs[-1].append(k)
        else:
            runs.append([k])
    steps = [float(len(run)) for run in runs for _ in run]
    return [n if labels.max(initial=-1) >= 1 else np.nan for n, labels in zip(steps, partitions, strict=True)]


def _along_tree(found: Findings, choice: Choice) -> Trail:
    """The candidates of the default method, coarsest last, preceded by finer cuts of the tree."""
    looked_at = np.setdiff1d(np.arange(len(found.labels)), found.blank, assume_unique=True)[choice.rows]
    # A row may have been looked at several times, by its weight: the first stands for all.
    _, where, rows = np.intersect1d(looked_at, found.drawn, return_indices=True)
    points = found.points[rows]
    finest_first, chosen = choice.partitions[::-1], len(choice.partitions) - 1 - choice.chosen
    lams = join_heights(choice.tree, finest_first)
    steps = [_step(points, np.full(len(rows), -1), 0.0, np.nan)]
    steps += [_step(points, labels[where], lam, np.nan) for labels, lam in _cuts_below(choice.tree, lams)]
    for k, (labels, lam, criterion) in enumerate(zip(finest_first, lams, choice.criteria[::-1], strict=True)):
        shown = found.labels[found.drawn][rows] if k == chosen else None
        steps.append(_step(points, labels[where], lam, criterion, shown))
    name = "criterion: how well the partition explains the observed entries"
    return Trail(tuple(steps), rows, len(steps) - 1 - choice.chosen, name)


def _step(points: Real, partition: Labels, lam: float, criterion: float, shown: Labels | None = None) -> Step:
    """A step in which the centre of a group is the mean of its rows; `shown`: the labels, if they are not its own."""
    partition = _numbered(partition)
    labels = partition if shown is None else _numbered(shown)
    centers = group_means(points, labels)
    places = np.where((labels >= 0)[:, None], centers[labels] if len(centers) else 0.0, points)
    return Step(labels, partition, float(lam), float(criterion), places, centers)


def _numbered(labels: Labels) -> Labels:
    """Labels without gaps, in their order: a sample may miss a group."""
    inside = labels >= 0
    numbers = np.full(len(labels), -1, np.intp)
    numbers[inside] = np.unique(labels[inside], return_inverse=True)[1]
    return numbers


def _cuts_below(tree: MergeTree, lams: Real) -> list[tuple[Labels, float]]:
    """Cuts of the tree at increasing lam, all below that of the first candidate."""
    heights = tree.linkage[:, 2]
    n = tree.n_points
    last = int(np.count_nonzero(heights < lams[0]))
    found = []
    groups = n / CUT_FACTOR
    while groups > max(n - last, 1):
        joins = n - int(groups)
        found.append((_cut(tree, joins), float(heights[joins - 1])))
        groups /= CUT_FACTOR
    return found


def _cut(tree: MergeTree, joins: int) -> Labels:
    """Groups after the first `joins` joins."""
    n = tree.n_points
    children = tree.linkage[:joins, :2].astype(np.intp).ravel()
    parents = np.repeat(n + np.arange(joins), 2)
    # Not a coo_array, whose positions of 64 bits SciPy 1.11 answers with no parts.
    graph = coo_matrix((np.ones(len(children)), (children, parents)), shape=(n + joins, n + joins))
    labels: Labels = connected_components(graph, directed=False)[1][:n].astype(np.intp)
    return labels
