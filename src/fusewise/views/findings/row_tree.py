"""The tree of the rows, and the table as a heat map in its order: long tables are collapsed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fusewise.automatic import Choice
from fusewise.automatic.tree import MergeTree
from fusewise.kernels import Index, Real
from fusewise.views.findings.cluster_map import standardised
from fusewise.views.findings.findings import Findings
from fusewise.views.findings.profile import Profile, profile_of

#: Maximum number of rows that are drawn one by one, with their names; longer tables are averaged in blocks.
MOST_NAMED = 300
#: Maximum number of lines of the heat map, and of branches of the tree, of a longer table.
MOST_LINES, MOST_BRANCHES = 400, 60


@dataclass(frozen=True)
class TreeJoin:
    """Two branches of the tree that merge.

    Attributes
    ----------
    left, right : ends of the branches: (position among the rows, number of groups when the branch was formed).
    groups : number of groups left after they merge.
    lam : strength of the fusion penalty at which they merge.
    begin, end : the rows under the join are those at the positions begin .. end - 1.
    """

    left: tuple[float, float]
    right: tuple[float, float]
    groups: int
    lam: float
    begin: int
    end: int


@dataclass(frozen=True, eq=False)
class RowTree:
    """Rows in the order of the tree, features side by side with similar ones.

    Attributes
    ----------
    rows : the rows in order, as indices into the drawn rows.
    lines : B + 1, position of the first row of each line of the heat map.
    features : the features in order.
    deviations : B x Q, mean of the observed values in standard deviations from the mean of the feature; NaN if all are
        missing.
    joins : the joins of the tree, lowest first; empty if there is no tree.
    """

    rows: Index
    lines: Index
    features: Index
    deviations: Real
    joins: tuple[TreeJoin, ...]

    @property
    def is_named(self) -> bool:
        """Whether each line is one row, and has room for its name."""
        return len(self.rows) <= MOST_NAMED


def row_tree(found: Findings, profile: Profile | None = None) -> RowTree:
    """Order the rows by the tree of the model, or by cluster if it has none."""
    profile = profile_of(found) if profile is None else profile
    tree = found.path.tree if isinstance(found.path, Choice) else None
    rows: Index = _by_cluster(found)
    joins: tuple[TreeJoin, ...] = ()
    if isinstance(found.path, Choice) and tree is not None and tree.n_points > 1:
        rows, joins = _by_tree(found, found.path, tree)
    n = len(rows)
    lines = np.unique(np.linspace(0, n, (n if n <= MOST_NAMED else MOST_LINES) + 1).astype(np.intp))
    return RowTree(rows, lines, profile.shown, _deviations(found, rows, lines, profile.shown), joins)


def _by_cluster(found: Findings) -> Index:
    """Rows by cluster, and within a cluster along the first principal component."""
    labels = found.labels[found.drawn]
    return np.lexsort((found.points[:, 0], np.where(labels < 0, found.n_clusters, labels)))


def _by_tree(found: Findings, choice: Choice, tree: MergeTree) -> tuple[Index, tuple[TreeJoin, ...]]:
    """Rows in the order of the tree; a row that was looked at several times, by its weight, is drawn once."""
    looked_at = np.setdiff1d(np.arange(len(found.labels)), found.blank, assume_unique=True)[choice.rows]
    order = tree.members(2 * tree.n_points - 2)
    first = np.zeros(tree.n_points, bool)
    first[np.unique(looked_at[order], return_index=True)[1]] = True
    kept = first & np.isin(looked_at[order], found.drawn)
    rows = np.searchsorted(found.drawn, looked_at[order][kept])
    position = np.concatenate([[0], np.cumsum(kept)])  # rows kept before each place of the order
    place = np.empty(tree.n_points, np.intp)
    place[order] = np.arange(tree.n_points)
    return rows, _joins(tree, place, position, len(rows))


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
            ends = [(float(middle[child]), float(formed[child])) for child in (a, b)]
            found.append(TreeJoin(ends[0], ends[1], n - 1 - k, float(lam), int(begin[node]), int(end[node])))
            middle[node], formed[node] = (middle[a] + middle[b]) / 2, n - 1 - k
        else:
            large = max(pair, key=lambda child: end[child] - begin[child])
            middle[node], formed[node] = middle[large], formed[large]
    return tuple(found)


def _deviations(found: Findings, rows: Index, lines: Index, features: Index) -> Real:
    scaled = standardised(found.values[:, features])[found.drawn[rows]]
    seen = ~np.isnan(scaled)
    totals = np.add.reduceat(np.where(seen, scaled, 0.0), lines[:-1], axis=0)
    held = np.add.reduceat(seen.astype(float), lines[:-1], axis=0)
    return np.where(held > 0, totals / np.maximum(held, 1), np.nan)
