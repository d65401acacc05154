"""The table as an ordered heat map: rows by cluster and merge tree, similar columns side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fusewise.automatic import Choice
from fusewise.kernels import Index, Labels, Real
from fusewise.views.findings.findings import Findings
from fusewise.views.findings.profile import profile_of

#: Maximum number of rows and of features on the map.
MOST_ROWS, MOST_FEATURES = 1_000, 60


@dataclass(frozen=True, eq=False)
class ClusterMap:
    """Cells of the table in the order in which they are drawn.

    Attributes
    ----------
    rows : position in the table of each row; clusters that are close in the tree follow each other, within a cluster
        rows are in the order of the tree, and outliers come last.
    names, labels : name and cluster of each row.
    features : names of the features.
    cells : rows x features, in standard deviations from the mean of each feature; NaN if missing.
    """

    rows: Index
    names: tuple[str, ...]
    labels: Labels
    features: tuple[str, ...]
    cells: Real


def cluster_map_of(found: Findings, most_rows: int = MOST_ROWS, most_features: int = MOST_FEATURES) -> ClusterMap:
    """The map of about `most_rows` rows, a sample with rows of every cluster, and of the features that matter most."""
    thin = found.thinned(most_rows)
    rows = thin.drawn[tree_order(thin)]
    shown = profile_of(found, most_features).shown
    cells = standardised(found.values[:, shown])[rows]
    names, features = tuple(found.names[i] for i in rows), tuple(found.features[j] for j in shown)
    return ClusterMap(rows, names, found.labels[rows], features, cells)


def standardised(values: Real) -> Real:
    """Columns in standard deviations from the mean of their observed entries; NaN if missing."""
    seen = ~np.isnan(values)
    counts = np.maximum(seen.sum(axis=0), 1)
    middle = np.where(seen, values, 0.0).sum(axis=0) / counts
    squares = np.square(np.where(seen, values - middle, 0.0)).sum(axis=0) / counts
    return np.asarray((values - middle) / np.where(squares > 0, np.sqrt(squares), 1.0))


def tree_order(found: Findings) -> Index:
    """Order of the drawn rows: by cluster, clusters by the middle of their rows in the tree, within them by the tree.

    Without a tree, the first principal component takes its place; rows that are not in the tree come last.
    """
    labels, position = found.labels[found.drawn], found.points[:, 0]
    if isinstance(found.path, Choice):
        tree = found.path.tree
        looked_at = np.setdiff1d(np.arange(len(found.labels)), found.blank, assume_unique=True)[found.path.rows]
        places = np.full(len(found.labels), np.nan)
        places[looked_at[tree.members(2 * tree.n_points - 2)]] = np.arange(tree.n_points)
        position = places[found.drawn]
    middles = np.full(found.n_clusters + 1, np.inf)  # the last is that of the outliers
    for k in np.unique(labels[labels >= 0]):
        known = position[(labels == k) & ~np.isnan(position)]
        middles[k] = np.median(known) if len(known) else np.inf
    return np.lexsort((found.points[:, 0], position, labels, middles[labels]))
