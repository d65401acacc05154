"""Partitions along the merge tree of l0 fusion, each described by a mixture on the observed entries, and compared."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree
from sklearn.exceptions import ConvergenceWarning

from fusewise.automatic.clusters import SOFT_ROUNDS
from fusewise.automatic.columnwise import ColumnMixture
from fusewise.automatic.copies import FEWEST_DIFFERENT, MANY_COPIES
from fusewise.automatic.criterion import criterion
from fusewise.automatic.evidence import Evidence
from fusewise.automatic.fusion_tree import fusion_tree
from fusewise.automatic.hints import NO_HINTS, Hints, given_to_nearest
from fusewise.automatic.merge_tree import MergeTree
from fusewise.automatic.mixture import Mixture, fit_grouped, fit_groups, soften
from fusewise.automatic.settling import held, log_odds
from fusewise.automatic.spreads import TAIL
from fusewise.kernels.threads import in_threads
from fusewise.kernels.types import Index, Labels, Mask, Real
from fusewise.kernels.words import counted
from fusewise.observations import InMemory, Quadratics
from fusewise.observations.groups import group_means
from fusewise.pairs import nearest_expected
from fusewise.progress import Progress, silent

#: Largest number of clusters considered, limited to one for every four rows.
MOST_CLUSTERS = 25
#: With hints, partitions into so many groups more are compared: hints may join some of them.
MOST_JOINED = 10
#: The search ends when the criterion has not improved for this many numbers of clusters.
PATIENCE = 8
#: Numbers (rows times squared dimensions) for each thread that fits mixtures: with fewer, threads mostly wait for
#: Python's lock (1000 rows in 6 dimensions on 16 cores: 1.0 s on one thread, 1.4 s on 4, 2.4 s on 16).
ENOUGH_WORK = 100_000
#: Of the rows that are known best, partitions into so many groups more or fewer than were found are compared.
AROUND = 3
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
    placed = [describe(known, labels).log_densities(rows.evidence)[0].argmax(axis=1) for labels in wanted]
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


@dataclass(frozen=True, eq=False)
class Compared:
    """Mixtures fitted to partitions, in order of the number of groups.

    Attributes
    ----------
    mixtures, criteria : mixture and criterion of each partition compared; larger criteria are better.
    interrupted : whether Ctrl-C ended the comparison early.
    barred : partitions that break hints, and whose criterion is that of the table alone.
    """

    mixtures: tuple[Mixture | ColumnMixture, ...]
    criteria: tuple[float, ...]
    interrupted: bool
    barred: frozenset[int] = frozenset()

    def with_one(self, mixture: Mixture | ColumnMixture, criterion: float, odds: float | None) -> Compared:
        """The same with one more: the criterion of the table alone, and ``settling.log_odds`` of the hints."""
        barred = self.barred if odds is not None else self.barred | {len(self.criteria)}
        criteria = (*self.criteria, criterion + (odds or 0.0))
        return Compared((*self.mixtures, mixture), criteria, self.interrupted, barred)

    @property
    def best(self) -> int:
        """The partition with the best criterion that breaks no hint."""
        return max(set(range(len(self.criteria))) - self.barred, key=self.criteria.__getitem__, default=0)


def compare(
    rows: Rows,
    table: InMemory,
    candidates: list[Labels],
    *,
    compare_all: bool,
    until: int | None = None,
    worth: float = 1.0,
    progress: Progress = silent,
    hints: Hints = NO_HINTS,
    n_clusters: int | None = None,
) -> Compared:
    """Fit a mixture to each partition and evaluate it, until the criterion stops improving.

    With `until`, also stop once a partition with that many groups is the best so far. `worth` is that of ``criterion``.
    With hints, their likelihood given the mixture counts as well; with `n_clusters` they must leave as many.
    """
    compared = Compared((), (), interrupted=False)

    def judge(labels: Labels) -> tuple[Mixture, float, float | None]:
        mixture = describe(rows, labels, worth)
        judged = criterion(rows.evidence, mixture, complete=table.is_complete, worth=worth)
        if not hints:
            return mixture, judged, 0.0
        return mixture, judged, log_odds(mixture.log_densities(rows.evidence)[0], hints, worth, n_clusters)

    try:
        n, r = rows.evidence.shape
        for mixture, judged, odds in in_threads(judge, candidates, most=1 + n * r * r // ENOUGH_WORK):
            compared = compared.with_one(mixture, judged, odds)
            number = len(compared.criteria)
            progress("comparing partitions", number, len(candidates), objective=-compared.criteria[-1])
            tired = number - 1 - compared.best >= PATIENCE
            if not compare_all and (tired or (until and compared.mixtures[compared.best].n_components >= until)):
                break
    except KeyboardInterrupt:
        if len(compared.barred) == len(compared.criteria) or compare_all:
            raise
        compared = replace(compared, interrupted=True)
        some = counted(len(compared.criteria), "partition")
        warnings.warn(f"interrupted: this is the best of {some} compared", ConvergenceWarning, stacklevel=5)
    return compared


def describe(rows: Rows, labels: Labels, worth: float = 1.0) -> Mixture:
    """Fit the mixture of a partition, in the family that explains it better.

    Each fit begins from one spread for all groups: started from the fit of the previous partition, EM is hardly faster
    and ends in worse optima.
    """
    n, n_groups = len(labels), int(labels.max()) + 1
    within, prior = rows.within(labels), rows.prior(n_groups)
    families = FAMILIES[: min(n_groups, 2)]  # one group has one spread
    groups = rows.evidence.grouped(labels, n_groups)
    fits = (fit_grouped(groups, within, prior, family) for family in families)
    return max(fits, key=lambda fit: worth * fit.fit - 0.5 * fit.complexity * np.log(worth * n))


def assign(rows: Rows, mixture: Mixture, hints: Hints = NO_HINTS, n_clusters: int | None = None) -> Mixture:
    """Assign rows to their likeliest component, then run a few rounds of soft EM, unless that empties a component.

    Rows with hints are only in components of the cluster of their block.
    """
    if mixture.n_components == 1:
        return mixture
    evidence, prior = rows.evidence, rows.prior(mixture.n_components)
    densities = mixture.log_densities(evidence)[0]
    away = held(densities, hints, n_clusters)
    labels = (densities + away).argmax(axis=1)
    if len(np.unique(labels)) == mixture.n_components:
        mixture = fit_groups(evidence, labels, rows.within(labels), prior, mixture.family)
    shared = soften(evidence, mixture, prior, SOFT_ROUNDS, away)
    left = np.unique((shared.log_densities(evidence)[0] + away).argmax(axis=1))
    return shared if len(left) == shared.n_components else mixture
