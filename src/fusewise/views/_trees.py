"""How rows fuse: the sequence of partitions, the merge tree of the rows, and the table in its order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster
from sklearn.preprocessing import StandardScaler

from fusewise.automatic import Choice, MergeTree, join_heights
from fusewise.fusion import FusionPath
from fusewise.kernels import Index, Labels, Real

if TYPE_CHECKING:
    from fusewise.views._findings import Findings

#: Below the candidates, each cut of the tree has fewer groups than the last by this factor.
CUT_FACTOR = 1.5
#: Maximum number of rows that are drawn one by one, with their names; longer tables are averaged in blocks.
MOST_NAMED = 300
#: Maximum number of lines of the heat map, and of branches of the tree, of a longer table.
MOST_LINES, MOST_BRANCHES = 400, 60


class Step(NamedTuple):
    """One partition of the trail; -1 for a single row."""

    partition: Labels
    labels: Labels  # what is drawn: the partition, but in the chosen step the clusters of the result
    lam: float  # strength of the fusion penalty from which on this partition holds; NaN if unknown
    criterion: float  # the criterion of the choice, larger is better; NaN if not computed
    centers: Real | None = None  # of each row, in the plane; None: the mean of its group

    @property
    def n_clusters(self) -> int:
        return int(self.labels.max(initial=-1)) + 1

    @property
    def n_groups(self) -> int:
        """Number of groups, and of rows that are single in the partition."""
        return self.n_clusters + int(np.count_nonzero(self.partition < 0))


@dataclass(frozen=True, eq=False)
class Trail:
    """Steps in order of increasing lam, none if the model was fitted at a given one; `chosen` is that of the result.

    `rows` are indices into the drawn rows: all, or those on which the clusters were computed.
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


def point_of_result(model: Any) -> int:
    """The point of the path of a ``PenalizedFusion`` that its result was taken from."""
    return max(k for k, point in enumerate(model.path_) if (point.lam, point.penalty) == (model.lam_, model.penalty_))


def plateaus(path: FusionPath) -> list[int]:
    """Over how many consecutive points the partition of each point stays the same."""
    runs = [len(list(same)) for _, same in groupby(labels.tobytes() for labels in path.labels)]
    return [n for n in runs for _ in range(n)]


def _along_path(found: Findings, path: FusionPath) -> Trail:
    """The solutions of a path as steps."""
    chosen, steps = point_of_result(found.model), []
    for k, (solution, stays) in enumerate(zip(path, plateaus(path), strict=True)):
        parts, centers = solution.labels[found.drawn], solution.centers[found.drawn]
        labels = found.labels[found.drawn] if k == chosen else parts
        rows = np.hstack([centers.real, centers.imag]) if np.iscomplexobj(centers) else centers
        criterion = stays if solution.labels.max(initial=-1) >= 1 else np.nan
        steps.append(Step(parts, labels, float(solution.lam), criterion, found.plane.project(rows.astype(float))))
    name = "number of steps over which the partition stays the same"
    return Trail(tuple(steps), np.arange(len(found.drawn)), chosen, name)


def _along_tree(found: Findings, choice: Choice) -> Trail:
    """The candidates of the default method, coarsest last, preceded by finer cuts of the tree."""
    # A row may have been looked at several times, by its weight: the first stands for all.
    _, where, rows = np.intersect1d(found.looked_at, found.drawn, return_indices=True)
    finest_first = choice.partitions[::-1]
    lams = join_heights(choice.tree, finest_first)
    parts: list[tuple[Labels, float, float]] = [(np.full(choice.tree.n_points, -1), 0.0, np.nan)]
    parts += [(labels, lam, np.nan) for labels, lam in _cuts_below(choice.tree, lams)]
    parts += zip(finest_first, lams, choice.criteria[::-1], strict=True)
    steps = []
    for labels, lam, criterion in parts:
        partition = _numbered(labels[where])
        steps.append(Step(partition, partition, float(lam), float(criterion)))
    chosen = len(steps) - 1 - choice.chosen
    steps[chosen] = steps[chosen]._replace(labels=_numbered(found.labels[found.drawn][rows]))
    name = "criterion: how well the partition explains the observed entries"
    return Trail(tuple(steps), rows, chosen, name)


def _numbered(labels: Labels) -> Labels:
    """Labels without gaps, in their order: a sample may miss a group."""
    inside = labels >= 0
    numbers = np.full(len(labels), -1, np.intp)
    numbers[inside] = np.unique(labels[inside], return_inverse=True)[1]
    return numbers


def _cuts_below(tree: MergeTree, lams: Real) -> list[tuple[Labels, float]]:
    """Cuts of the tree at increasing lam, all below that of the first candidate."""
    heights, n = tree.linkage[:, 2], tree.n_points
    last = int(np.count_nonzero(heights < lams[0]))
    found, groups = [], n / CUT_FACTOR
    while groups > max(n - last, 1):
        lam = float(heights[n - int(groups) - 1])
        found.append((fcluster(tree.linkage, lam, "distance").astype(np.intp), lam))
        groups /= CUT_FACTOR
    return found


def standardised(values: Real) -> Real:
    """Columns in standard deviations from the mean of their observed entries; NaN if missing."""
    with np.errstate(invalid="ignore"):  # of a column without values
        return np.asarray(StandardScaler().fit_transform(values))


def tree_order(found: Findings) -> Index:
    """Order of the drawn rows: by cluster, clusters by the middle of their rows in the tree, within them by the tree.

    Without a tree, the first principal component takes its place; rows that are not in the tree come last.
    """
    labels, position = found.labels[found.drawn], found.points[:, 0]
    if isinstance(found.path, Choice):
        tree, places = found.path.tree, np.full(len(found.labels), np.nan)
        places[found.looked_at[tree.members(2 * tree.n_points - 2)]] = np.arange(tree.n_points)
        position = places[found.drawn]
    middles = np.full(found.n_clusters + 1, np.inf)  # the last is that of the outliers
    for k in np.unique(labels[labels >= 0]):
        known = position[(labels == k) & ~np.isnan(position)]
        middles[k] = np.median(known) if len(known) else np.inf
    return np.lexsort((found.points[:, 0], position, labels, middles[labels]))


class TreeJoin(NamedTuple):
    """Two branches of the tree of rows that merge at `lam`, which leaves so many groups.

    Each branch has a position among the rows, and the number of groups when it was formed; the rows under the join are
    those at the positions begin .. end - 1.
    """

    left: float
    left_groups: int
    right: float
    right_groups: int
    groups: int
    lam: float
    begin: int
    end: int


@dataclass(frozen=True, eq=False)
class RowTree:
    """Rows in the order of the tree, features side by side with similar ones."""

    rows: Index  # the rows in order, as indices into the drawn rows
    lines: Index  # B + 1, position of the first row of each line of the heat map
    features: tuple[str, ...]  # columns and levels in order
    # B x Q, mean of the observed values in standard deviations from the mean of the feature; NaN if all are missing
    deviations: Real
    joins: tuple[TreeJoin, ...]  # the joins of the tree, lowest first; empty if there is no tree

    @property
    def is_named(self) -> bool:
        """Whether each line is one row, and has room for its name."""
        return len(self.rows) <= MOST_NAMED


def row_tree(found: Findings) -> RowTree:
    """Order the rows by the tree of the model, or by cluster if it has none."""
    profile = found.profile
    joins: tuple[TreeJoin, ...] = ()
    if isinstance(found.path, Choice) and found.path.tree.n_points > 1:
        rows, joins = _by_tree(found, found.path.tree)
    else:
        rows = tree_order(found)
    n = len(rows)
    lines = np.unique(np.linspace(0, n, (n if n <= MOST_NAMED else MOST_LINES) + 1).astype(np.intp))
    scaled = standardised(profile.values)[found.drawn[rows]]
    seen = ~np.isnan(scaled)
    totals = np.add.reduceat(np.where(seen, scaled, 0.0), lines[:-1], axis=0)
    held = np.add.reduceat(seen.astype(float), lines[:-1], axis=0)
    return RowTree(rows, lines, profile.names, np.where(held > 0, totals / np.maximum(held, 1), np.nan), joins)


def _by_tree(found: Findings, tree: MergeTree) -> tuple[Index, tuple[TreeJoin, ...]]:
    """Rows in the order of the tree; a row that was looked at several times, by its weight, is drawn once."""
    order = tree.members(2 * tree.n_points - 2)
    looked_at = found.looked_at[order]
    first = np.zeros(tree.n_points, bool)
    first[np.unique(looked_at, return_index=True)[1]] = True
    kept = first & np.isin(looked_at, found.drawn)
    rows = np.searchsorted(found.drawn, looked_at[kept])
    position = np.concatenate([[0], np.cumsum(kept)])  # rows kept before each place of the order
    return rows, _joins(tree, np.argsort(order), position, len(rows))


def _joins(tree: MergeTree, place: Index, position: Index, n_rows: int) -> tuple[TreeJoin, ...]:
    """The joins of two branches with enough rows each; the others are part of the larger branch."""
    least = 1 if n_rows <= MOST_NAMED else max(2, n_rows // MOST_BRANCHES)
    n = tree.n_points
    starts = np.array([place[tree.members(node)[0]] for node in range(2 * n - 1)])
    begin, end = position[starts], position[starts + tree.sizes]
    middle, formed = (begin + end) / 2, np.full(2 * n - 1, n)
    found = []
    for k, (left, right, lam, _) in enumerate(tree.linkage):
        pair, node = (int(left), int(right)), n + k
        if all(end[child] - begin[child] >= least for child in pair):
            a, b = sorted(pair, key=lambda child: middle[child])
            ends = middle[a], formed[a], middle[b], formed[b]
            found.append(TreeJoin(*ends, n - 1 - k, lam, begin[node], end[node]))
            middle[node], formed[node] = (middle[a] + middle[b]) / 2, n - 1 - k
        else:
            large = max(pair, key=lambda child: end[child] - begin[child])
            middle[node], formed[node] = middle[large], formed[large]
    return tuple(found)
