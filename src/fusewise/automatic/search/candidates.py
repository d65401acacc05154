"""Partitions along the merge tree of l0 fusion: the candidates among which one is chosen."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from fusewise.automatic.coordinates.copies import FEWEST_DIFFERENT, MANY_COPIES
from fusewise.automatic.coordinates.placed_rows import Rows
from fusewise.automatic.hints import NO_HINTS, Hints, given_to_nearest
from fusewise.automatic.models.group_fit import fit_groups
from fusewise.automatic.models.partition_fit import FIRST_ROUNDS, describe, threads_of_fits
from fusewise.automatic.models.spreads import TAIL
from fusewise.automatic.tree.fusion_tree import fusion_tree
from fusewise.automatic.tree.merge_tree import MergeTree
from fusewise.kernels.threads import in_threads
from fusewise.kernels.types import Labels, Mask, Real
from fusewise.observations import Quadratics
from fusewise.observations.groups import group_means
from fusewise.pairs import nearest_expected

#: Largest number of clusters considered, limited to one for every four rows.
MOST_CLUSTERS = 25
#: With hints, partitions into so many groups more are compared: hints may join some of them.
MOST_JOINED = 10
#: Of the rows that are known best, partitions into so many groups more or fewer than were found are compared.
AROUND = 3
#: Spread within a cluster assumed while fusing, as a share of the variance along an axis of the subspace.
WITHIN_SHARE = 0.1


def grow(rows: Rows, n_neighbors: int, hints: Hints = NO_HINTS) -> MergeTree:
    """Merge tree on the graph of nearest neighbours; rows far from all others have less weight (Student-t weights)."""
    evidence = rows.evidence
    n, r = evidence.shape
    pairs = nearest_expected(rows.places, rows.covariances, min(n_neighbors, n - 1))
    marginal = evidence.together.marginal(WITHIN_SHARE * rows.variances.mean() * np.eye(r)[None])
    scale = marginal.undone[0, 0, 0]  # coordinates in units of the spread
    gram = scale**2 * (np.eye(r) - marginal.inverse.transpose(2, 0, 1))
    target = scale * marginal.target.T
    together = np.zeros(n, np.intp)
    one = fit_groups(evidence, together, rows.within(together), np.diag(rows.variances), "scale")
    weights = (TAIL + evidence.dimensions) / (TAIL + one.log_densities(evidence)[1][:, 0])
    quadratics = Quadratics(gram[evidence.pattern] * weights[:, None, None], target * weights[:, None], np.zeros(n))
    return fusion_tree(quadratics, pairs, hints)


def candidate_nodes(
    tree: MergeTree,
    smallest: float,
    n_clusters: int | None,
    most: int = MOST_CLUSTERS,
    copies: Real | None = None,
    hints: Hints = NO_HINTS,
) -> list[list[int]]:
    """Candidates along the tree, as nodes of it; the last has `n_clusters` groups if given.

    With `copies` (``copies.shares_of_copies``), a group has some different rows, or a large share of all. With hints
    there are more candidates, as hints may join groups.
    """
    room = MOST_JOINED + tree.forced if hints else 0
    most = (min(most, max(1, tree.n_points // 4)) if n_clusters is None else n_clusters) + room
    found = tree.partitions(smallest, most, allowed_nodes(tree, smallest, copies))
    if n_clusters is not None and len(found) + tree.forced < n_clusters:
        return tree.partitions(1, n_clusters)  # this many clusters exist only if small ones are allowed
    return found


def allowed_nodes(tree: MergeTree, smallest: float, copies: Real | None) -> Mask:
    """Nodes that may be groups: large enough, and with some different rows or a large share of all."""
    large = tree.sizes >= smallest
    if copies is None:
        return large
    different = tree.totals(copies) >= min(FEWEST_DIFFERENT, smallest) - 0.01  # rounding
    return large & (different | (tree.sizes >= MANY_COPIES * tree.n_points))


def partitions(
    tree: MergeTree,
    places: Real,
    smallest: float,
    n_clusters: int | None,
    most: int = MOST_CLUSTERS,
    copies: Real | None = None,
    hints: Hints = NO_HINTS,
) -> list[Labels]:
    """Candidates along the tree (``candidate_nodes``), small parts joined to the nearest group.

    If there are conflicts, the first is one group, for comparison only.
    """
    found = candidate_nodes(tree, smallest, n_clusters, most, copies, hints)
    labels = [labels_of(tree, nodes, places, hints) for nodes in found]
    return [np.zeros(tree.n_points, np.intp), *labels] if tree.forced else labels


def from_best_known(
    rows: Rows,
    smallest: float,
    n_clusters: int | None,
    n_neighbors: int,
    numbers: range,
    copies: Real | None = None,
) -> list[Labels]:
    """Candidates along the tree of the rows that are known best; every row is in the group that explains it best.

    A row with few entries fits many groups, and those it is fused with early may be the wrong ones. Only partitions
    into some `numbers` of groups are wanted.
    """
    which = rows.best_known
    if len(which) == len(rows.places) or len(which) < 2:
        return []
    known, order = rows.some(which)
    fewest, own = max(3.0, len(which) / len(rows.places) * smallest), None if copies is None else copies[order]
    found = partitions(grow(known, n_neighbors), known.places, fewest, n_clusters, numbers[-1], own)
    wanted = [labels for labels in found if int(labels.max()) + 1 in numbers]

    def in_likeliest(labels: Labels) -> Labels:
        described = describe(known, labels, rounds=FIRST_ROUNDS)
        return np.asarray(described.log_densities(rows.evidence)[0].argmax(axis=1))

    placed = in_threads(in_likeliest, wanted, threads_of_fits(*rows.evidence.shape))
    return [to for labels, to in zip(wanted, placed, strict=True) if len(np.unique(to)) == labels.max() + 1]


def labels_of(tree: MergeTree, nodes: list[int], places: Real, hints: Hints = NO_HINTS) -> Labels:
    """The group of each row; a row under none of the nodes is in the group with the nearest centre that hints allow."""
    labels = np.full(tree.n_points, -1, dtype=np.intp)
    for k, node in enumerate(nodes):
        labels[tree.members(node)] = k
    small = np.flatnonzero(labels < 0)
    if not len(small):
        return labels
    centres = group_means(places, labels)
    if hints:
        return given_to_nearest(labels, small, np.square(places[small, None] - centres).sum(axis=2), hints)
    labels[small] = cKDTree(centres).query(places[small])[1]
    return labels
