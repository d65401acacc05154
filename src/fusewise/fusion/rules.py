"""Simple rules for what the paper leaves open: sigma, the values of lam, and the point of the path to select."""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from fusewise.fusion.path import FusionPath
from fusewise.fusion.setup import nearest_distances
from fusewise.kernels.types import Labels, Real
from fusewise.observations import Entries
from fusewise.observations.groups import group_means, number_by_size
from fusewise.pairs.distances import real_view

#: Number of times lam is doubled, starting from a value without effect.
DOUBLINGS = 24


def choose_sigma(entries: Entries) -> float:
    """Half the median distance between a point and its nearest neighbour (partial distances)."""
    nearest = nearest_distances(entries)
    positive = nearest[nearest > 0]
    return 0.5 * float(np.median(positive)) if len(positive) else 1.0


def lam_schedule(first: float) -> Real:
    """Values of lam, repeatedly doubled from `first`."""
    return first * 2.0 ** np.arange(DOUBLINGS)


def longest_plateau(path: FusionPath) -> int:
    """Point of the path whose partition persists over the most points; the last of them.

    Partitions with one group or none are not candidates, unless there are no others.
    """
    best, best_length, length = len(path) - 1, 0, 0
    for k, labels in enumerate(path.labels):
        same = k > 0 and np.array_equal(labels, path.labels[k - 1])
        length = length + 1 if same else 1
        if path.n_clusters[k] >= 2 and length >= best_length:
            best, best_length = k, length
    return best


def cut_to(path: FusionPath, n_clusters: int) -> tuple[int, Labels]:
    """Point with the fewest groups of at least `n_clusters`, and its groups joined until `n_clusters` are left.

    Each outlier counts as a group, so outliers are the first to be joined.
    """
    k = max((i for i, labels in enumerate(path.labels) if _n_groups(labels) >= n_clusters), default=0)
    seen = path[k].observations.row_counts > 0
    groups = path.labels[k][seen]
    loose = np.flatnonzero(groups < 0)
    groups[loose] = groups.max(initial=-1) + 1 + np.arange(len(loose))
    if groups.max() > 0:
        tree = linkage(real_view(group_means(path.centers(k)[seen], groups)), method="average")
        groups = _cut(tree, n_clusters)[groups]
    labels = np.full(len(seen), -1, dtype=np.intp)
    labels[seen] = number_by_size(groups)
    return k, labels


def _cut(tree: Real, n_groups: int) -> Labels:
    """The groups after the first merges of a linkage matrix, exactly `n_groups` (SciPy's has fewer at ties)."""
    n = len(tree) + 1
    first = tree[: max(n - n_groups, 0), :2].astype(np.intp)
    made = n + np.repeat(np.arange(len(first)), 2)
    graph = coo_matrix((np.ones(len(made)), (first.ravel(), made)), (2 * n - 1, 2 * n - 1))
    groups = connected_components(graph, directed=False)[1][:n]
    return np.asarray(np.unique(groups, return_inverse=True)[1], np.intp)


def _n_groups(labels: Labels) -> int:
    """Number of groups, each outlier counted as one."""
    return int(labels.max(initial=-1)) + 1 + int(np.count_nonzero(labels < 0))
