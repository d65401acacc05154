"""Partitions along the merge tree of l0 fusion, each described by a mixture on the observed entries, and compared."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree
from sklearn.exceptions import ConvergenceWarning

from fusewise.automatic.clusters import SOFT_ROUNDS
from fusewise.automatic.columnwise import ColumnMixture
from fusewise.automatic.copies import FEWEST_DIFFERENT, MANY_COPIES
from fusewise.automatic.criterion import criterion
from fusewise.automatic.evidence import Evidence
from fusewise.automatic.fusion_tree import fusion_tree
from fusewise.automatic.merge_tree import MergeTree
from fusewise.automatic.mixture import Mixture, fit_groups, soften
from fusewise.automatic.spreads import TAIL
from fusewise.kernels.threads import in_threads
from fusewise.kernels.types import Index, Labels, Real
from fusewise.kernels.words import counted
from fusewise.observations import InMemory, Quadratics
from fusewise.observations.groups import group_means
from fusewise.pairs import nearest_expected
from fusewise.progress import Progress, silent

#: Largest number of clusters considered, limited to one for every four rows.
MOST_CLUSTERS = 25
#: The search ends when the criterion has not improved for this many numbers of clusters.
PATIENCE = 8
#: Spread within a cluster assumed while fusing, as a share of the variance along an axis of the subspace.
WITHIN_SHARE = 0.1
FAMILIES = ("scale", "full")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in a subspace: the evidence on their coordinates, and the posterior of these.

    Attributes
    ----------
    evidence : the likelihood of the coordinates given the entries.
    places, covariances : mean and covariance of each row's coordinates, N x r and N x r x r.
    variances : variance of each coordinate over all rows, r.
    """

    evidence: Evidence
    places: Real
    covariances: Real
    variances: Real

    @classmethod
    def of(cls, evidence: Evidence, variances: Real) -> Rows:
        """Compute the posterior of coordinates with prior N(0, diag(variances))."""
        return cls(evidence, *evidence.posterior(variances), variances)

    def within(self, labels: Labels) -> Real:
        """Spread around the means of groups, including the uncertainty of each row."""
        means = np.array([self.places[labels == k].mean(axis=0) for k in range(labels.max() + 1)])
        deviations = self.places - means[labels]
        return np.asarray((deviations.T @ deviations + self.covariances.sum(axis=0)) / len(deviations))

    @property
    def best_known(self) -> Index:
        """The half of the rows whose coordinates are known best, and those known as well; sorted.

        A row is known as far as its entries lower the variance of its coordinates, on average over these.
        """
        unknown = (np.einsum("irr->ir", self.covariances) / np.maximum(self.variances, 1e-300)).mean(axis=1)
        return np.flatnonzero(unknown <= np.median(unknown) * (1 + 1e-9))

    def some(self, which: Index) -> tuple[Rows, Index]:
        """Some of the rows, and the order they are in; variances stay those of all rows."""
        groups = self.evidence.grouped(np.zeros(len(which), np.intp), 1, which)
        order = which[groups.order]
        return Rows(groups.evidence, self.places[order], self.covariances[order], self.variances), order

    def prior(self, n_groups: int) -> Real:
        """Approximate spread of each of K groups that together fill the space."""
        return np.asarray(np.diag(self.variances) / n_groups ** (2 / len(self.variances)))


def grow(rows: Rows, n_neighbors: int) -> MergeTree:
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
    return fusion_tree(
        Quadratics(gram[evidence.pattern] * weights[:, None, None], target * weights[:, None], np.zeros(n)), pairs
    )


def candidate_nodes(
    tree: MergeTree, smallest: float, n_clusters: int | None, most: int = MOST_CLUSTERS, copies: Real | None = None
) -> list[list[int]]:
    """Candidates along the tree, as nodes of it; the last has `n_clusters` groups if given.

    With `copies` (``copies.shares_of_copies``), a group has some different rows, or a large share of all.
    """
    most = min(most, max(1, tree.n_points // 4)) if n_clusters is None else n_clusters
    allowed = None
    if copies is not None:
        different = tree.totals(copies) >= min(FEWEST_DIFFERENT, smallest) - 0.01  # rounding
        allowed = different | (tree.sizes >= MANY_COPIES * tree.n_points)
    found = tree.partitions(smallest, most, allowed)
    if n_clusters is not None and len(found) < n_clusters:
        return tree.partitions(1, n_clusters)  # this many clusters exist only if small ones are allowed
    return found


def partitions(
    tree: MergeTree,
    places: Real,
    smallest: float,
    n_clusters: int | None,
    most: int = MOST_CLUSTERS,
    copies: Real | None = None,
) -> list[Labels]:
    """Candidates along the tree (``candidate_nodes``), small parts joined to the nearest group."""
    return [labels_of(tree, nodes, places) for nodes in candidate_nodes(tree, smallest, n_clusters, most, copies)]


def from_best_known(
    rows: Rows, smallest: float, n_clusters: int | None, n_neighbors: int, most: int, copies: Real | None = None
) -> list[Labels]:
    """Candidates along the tree of the rows that are known best; every row is in the group that explains it best.

    A row with few entries fits many groups, and those it is fused with early may be the wrong ones.
    """
    which = rows.best_known
    if len(which) == len(rows.places) or len(which) < 2:
        return []
    known, order = rows.some(which)
    fewest, own = max(3.0, len(which) / len(rows.places) * smallest), None if copies is None else copies[order]
    found = partitions(grow(known, n_neighbors), known.places, fewest, n_clusters, most, own)
    placed = [describe(known, labels).log_densities(rows.evidence)[0].argmax(axis=1) for labels in found]
    return [labels for number, labels in enumerate(placed, 1) if len(np.unique(labels)) == number]


def labels_of(tree: MergeTree, nodes: list[int], places: Real) -> Labels:
    """The group of each row; a row under none of the nodes is in the group with the nearest centre."""
    labels = np.full(tree.n_points, -1, dtype=np.intp)
    for k, node in enumerate(nodes):
        labels[tree.members(node)] = k
    shed = labels < 0
    if shed.any():
        labels[shed] = cKDTree(group_means(places, labels)).query(places[shed])[1]
    return labels


@dataclass(frozen=True, eq=False)
class Compared:
    """Mixtures fitted to partitions, in order of the number of groups.

    Attributes
    ----------
    mixtures, criteria : mixture and criterion of each partition compared; larger criteria are better.
    interrupted : whether Ctrl-C ended the comparison early.
    """

    mixtures: tuple[Mixture | ColumnMixture, ...]
    criteria: tuple[float, ...]
    interrupted: bool


def compare(
    rows: Rows,
    table: InMemory,
    candidates: list[Labels],
    *,
    compare_all: bool,
    until: int | None = None,
    worth: float = 1.0,
    progress: Progress = silent,
) -> Compared:
    """Fit a mixture to each partition and evaluate it, until the criterion stops improving.

    With `until`, also stop once a partition with that many groups is the best so far. `worth` is that of ``criterion``.
    """
    mixtures: list[Mixture] = []
    criteria: list[float] = []
    interrupted = False

    def judge(labels: Labels) -> tuple[Mixture, float]:
        mixture = describe(rows, labels, worth)
        return mixture, criterion(rows.evidence, mixture, complete=table.is_complete, worth=worth)

    try:
        for mixture, judged in in_threads(judge, candidates):
            mixtures.append(mixture)
            criteria.append(judged)
            progress("comparing partitions", len(criteria), len(candidates), objective=-criteria[-1])
            best = int(np.argmax(criteria))
            tired = len(criteria) - 1 - best >= PATIENCE
            if not compare_all and (tired or (until and best + 1 >= until)):
                break
    except KeyboardInterrupt:
        if not criteria or compare_all:
            raise
        interrupted = True
        compared = counted(len(criteria), "partition")
        warnings.warn(f"interrupted: this is the best of {compared} compared", ConvergenceWarning, stacklevel=5)
    return Compared(tuple(mixtures), tuple(criteria), interrupted)


def describe(rows: Rows, labels: Labels, worth: float = 1.0) -> Mixture:
    """Fit the mixture of a partition, in the family that explains it better.

    Each fit begins from one spread for all groups: started from the fit of the previous partition, EM is hardly faster
    and ends in worse optima.
    """
    n, n_groups = len(labels), int(labels.max()) + 1
    within, prior = rows.within(labels), rows.prior(n_groups)
    families = FAMILIES[: min(n_groups, 2)]  # one group has one spread
    fits = (fit_groups(rows.evidence, labels, within, prior, family) for family in families)
    return max(fits, key=lambda fit: worth * fit.fit - 0.5 * fit.complexity * np.log(worth * n))


def assign(rows: Rows, mixture: Mixture) -> Mixture:
    """Assign rows to their likeliest component, then run a few rounds of soft EM, unless that empties a component."""
    if mixture.n_components == 1:
        return mixture
    evidence, prior = rows.evidence, rows.prior(mixture.n_components)
    labels = mixture.log_densities(evidence)[0].argmax(axis=1)
    if len(np.unique(labels)) == mixture.n_components:
        mixture = fit_groups(evidence, labels, rows.within(labels), prior, mixture.family)
    shared = soften(evidence, mixture, prior, SOFT_ROUNDS)
    left = np.unique(shared.log_densities(evidence)[0].argmax(axis=1))
    return shared if len(left) == shared.n_components else mixture
