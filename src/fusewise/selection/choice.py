"""The default: a subspace, a graph, the merge tree of l0 fusion, and the partition that explains the table best."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc
from sklearn.exceptions import ConvergenceWarning

from fusewise.evidence import Evidence, Index
from fusewise.mixture import TAIL, Mixture, fit_groups, soften
from fusewise.observations import Entries, Quadratics
from fusewise.observations.entries import Real, Values
from fusewise.pairs import nearest_expected
from fusewise.selection.axes import fit_axes, prior_variances, scaled, varying_columns
from fusewise.selection.criterion import criterion
from fusewise.subspace import Subspace
from fusewise.tree import MergeTree, fusion_tree

Labels = npt.NDArray[np.intp]

#: Dimensions of the subspace to begin with, and the most where many clusters are found.
RANK, LARGEST_RANK = 6, 12
#: Neighbours of each point.
NEIGHBORS = 15
#: A cluster has at least this share of the rows, and at least three.
SMALLEST_SHARE = 0.015
#: At most so many clusters are considered, and no more than one for every four rows.
MOST_CLUSTERS = 25
#: The search ends when the criterion has not risen for so many numbers of clusters.
PATIENCE = 8
#: Spread within a cluster assumed while fusing, as a part of the variance along an axis of the subspace.
WITHIN = 0.1
#: Rounds of EM after the choice.
SOFT_ROUNDS = 4
#: A row is an outlier if its own cluster puts less than this probability so far out.
OUTLIER_LEVEL = 0.01


@dataclass(frozen=True, eq=False)
class Classified:
    """Rows as a mixture sees them.

    Attributes
    ----------
    labels : the likeliest cluster of each row.
    posterior : N x K, the probability of each cluster for each row.
    outlying : whether a row is further from its cluster than all but one in a hundred of a Student's cluster are.
    """

    labels: Labels
    posterior: Real
    outlying: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Choice:
    """A partition, what it was chosen from, and why.

    Attributes
    ----------
    columns, scale, middle : which columns vary; the standard deviation of each (1 for the others), and its mean. The
        subspace is that of the varying columns divided by their scale.
    subspace, evidence, tree : the steps on the way.
    partitions, mixtures, criteria : the candidates along the tree, one for each number of clusters from 1 up.
    chosen : which of them was taken.
    mixture : its components, after the last step of assignment.
    interrupted : whether Ctrl-C ended the comparison before it was done.
    """

    columns: Index
    scale: Real
    middle: Values
    subspace: Subspace
    evidence: Evidence
    tree: MergeTree
    partitions: tuple[Labels, ...]
    mixtures: tuple[Mixture, ...]
    criteria: tuple[float, ...]
    chosen: int
    mixture: Mixture
    interrupted: bool

    @property
    def lam(self) -> float:
        """The lam of l0 fusion from which the tree has as few groups as were chosen (shed ones counted among them)."""
        heights = self.tree.linkage[:, 2]
        return float(heights[max(len(heights) - self.mixture.n_components, 0)])

    def classify(self, evidence: Evidence) -> Classified:
        """The likeliest cluster of each row, its probabilities, and whether it is too far out for any."""
        densities, distances = self.mixture.log_densities(evidence)
        posterior = np.exp(densities - np.logaddexp.reduce(densities, axis=1)[:, None])
        labels = posterior.argmax(axis=1)
        d = np.maximum(evidence.dimensions, 1)
        nearest = distances[np.arange(len(labels)), labels]
        return Classified(labels, posterior, fdtrc(d, TAIL, nearest / d) < OUTLIER_LEVEL)

    def completed(self, evidence: Evidence, posterior: Real) -> Values:
        """E[row | its entries], in the units of the table: each cluster's guess, weighed by its probability."""
        v = np.zeros(evidence.shape)
        for k in range(self.mixture.n_components):
            v += posterior[:, k : k + 1] * self.mixture.conditional(evidence, k)[0]
        return self.ambient(v)

    def ambient(self, places: Real) -> Values:
        """Coordinates as rows of the table, in its units."""
        r = self.subspace.rank
        whole = places[:, :r] + 1j * places[:, r:] if places.shape[1] > r else places
        rows = np.repeat(self.middle[None], len(places), axis=0)
        rows[:, self.columns] = (self.subspace.mean + whole @ self.subspace.basis.T) * self.scale[self.columns]
        return rows

    def evidence_of(self, entries: Entries) -> Evidence:
        """The evidence of other rows, seen through the same subspace."""
        return Evidence.of(self.subspace, scaled(entries, self.columns, self.scale))


def choose(
    entries: Entries,
    *,
    n_clusters: int | None = None,
    rank: int | None = None,
    n_neighbors: int | None = None,
    min_size: float | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Choice:
    """Cluster a table without being told anything (or only some of it).

    Columns are brought to unit variance; rows are placed in a subspace, with the uncertainty their holes leave; near
    ones are joined by a graph; l0 fusion along the graph gives a tree of nested partitions; each partition is
    described by a Student mixture on the observed entries, and the one with the best `criterion` is taken. K centres
    span K - 1 dimensions, so if more clusters are found than the subspace has room for, it is enlarged, once, and all
    is done again. Last, every row goes to its likeliest cluster, and the mixture is fitted once more.

    Parameters
    ----------
    entries : table, every row with something observed.
    n_clusters, rank, n_neighbors : numbers to use instead of choosing them.
    min_size : smallest cluster considered; None: 1.5% of the rows, at least 3.
    tell : called with a line about each step.
    """
    columns, scale = varying_columns(entries)
    table = scaled(entries, columns, scale)
    n, p = table.shape
    dimensions = min(rank or RANK, p, n - 1)

    def attempt(dimensions: int) -> Choice:
        found = _choose_in(table, dimensions, n_clusters, n_neighbors, min_size, tell)
        return Choice(columns, scale, entries.column_means, *found)

    choice = attempt(dimensions)
    needed = min(choice.mixtures[choice.chosen].n_components - 1, LARGEST_RANK, p, n - 1)
    return attempt(needed) if rank is None and needed > dimensions else choice


def _choose_in(
    table: Entries,
    rank: int,
    n_clusters: int | None,
    n_neighbors: int | None,
    min_size: float | None,
    tell: Callable[[str], None],
) -> tuple[Any, ...]:
    """The same in a subspace of given rank: all of a ``Choice`` but the columns."""
    n = table.shape[0]
    subspace = fit_axes(table, rank)
    evidence = Evidence.of(subspace, table)
    prior = prior_variances(subspace, evidence)
    places, covariances = evidence.posterior(prior)
    spread = np.diag(prior)
    tree = _grow(evidence, places, covariances, spread, min(n_neighbors or NEIGHBORS, n - 1))
    tell(f"{n} rows in {subspace.rank} dimensions: merge tree done, comparing partitions")
    smallest = max(3.0, SMALLEST_SHARE * n) if min_size is None else float(min_size)
    partitions = _partitions(tree, places, smallest, n_clusters)
    mixtures: list[Mixture] = []
    criteria: list[float] = []
    interrupted = False
    try:
        for labels in partitions:
            mixture = _describe(evidence, labels, places, covariances, spread)
            mixtures.append(mixture)
            criteria.append(criterion(evidence, mixture, complete=table.is_complete))
            tell(f"  {mixture.n_components} clusters: criterion {criteria[-1]:.1f} ({mixture.family})")
            if n_clusters is None and len(criteria) - 1 - int(np.argmax(criteria)) >= PATIENCE:
                break
    except KeyboardInterrupt:
        if not criteria or n_clusters is not None:
            raise
        interrupted = True
        warnings.warn(f"interrupted: the best of {len(criteria)} partitions compared", ConvergenceWarning, stacklevel=4)
    chosen = int(np.argmax(criteria)) if n_clusters is None else len(criteria) - 1
    mixture = _assign(evidence, mixtures[chosen], places, covariances, spread)
    candidates = tuple(partitions[: len(criteria)]), tuple(mixtures), tuple(criteria)
    return subspace, evidence, tree, *candidates, chosen, mixture, interrupted


def _grow(evidence: Evidence, places: Real, covariances: Real, spread: Real, n_neighbors: int) -> MergeTree:
    """The merge tree on the graph of nearest neighbours, rows far from everything weighing less (Student's weights)."""
    n, r = evidence.shape
    pairs = nearest_expected(places, covariances, n_neighbors)
    cells = evidence.together
    gram, target, _ = evidence.marginal(cells, WITHIN * np.trace(spread) / r * np.eye(r)[None])
    one = fit_groups(
        evidence, np.zeros(n, np.intp), _within(places, covariances, np.zeros(n, np.intp)), spread, "scale"
    )
    weights = (TAIL + evidence.dimensions) / (TAIL + one.log_densities(evidence)[1][:, 0])
    fidelity = Quadratics(gram[cells.of] * weights[:, None, None], target * weights[:, None], np.zeros(n))
    return fusion_tree(fidelity, pairs)


def _partitions(tree: MergeTree, places: Real, smallest: float, n_clusters: int | None) -> list[Labels]:
    """Candidates along the tree, shed parts joined to the nearest group; the last has `n_clusters` groups if given."""
    most = min(MOST_CLUSTERS, max(1, tree.n_points // 4)) if n_clusters is None else n_clusters
    found = tree.partitions(smallest, most)
    if n_clusters is not None and len(found) < n_clusters:
        found = tree.partitions(1, n_clusters)  # so many clusters can only be had with small ones
    return [_labels(tree, nodes, places) for nodes in found]


def _labels(tree: MergeTree, nodes: list[int], places: Real) -> Labels:
    labels = np.full(tree.n_points, -1, dtype=np.intp)
    for k, node in enumerate(nodes):
        labels[tree.members(node)] = k
    shed = np.flatnonzero(labels < 0)
    if len(shed):
        centres = np.array([places[labels == k].mean(axis=0) for k in range(len(nodes))])
        labels[shed] = np.square(places[shed, None] - centres).sum(axis=2).argmin(axis=1)
    return labels


def _within(places: Real, covariances: Real, labels: Labels) -> Real:
    """Spread of the rows about the means of their groups, their uncertainty added."""
    means = np.array([places[labels == k].mean(axis=0) for k in range(labels.max() + 1)])
    deviations = places - means[labels]
    return np.asarray((deviations.T @ deviations + covariances.sum(axis=0)) / len(places))


def _describe(
    evidence: Evidence, labels: Labels, places: Real, covariances: Real, spread: Real, family: str | None = None
) -> Mixture:
    """The mixture of a partition, of the family that explains it better."""
    n, r = evidence.shape
    n_groups = int(labels.max()) + 1
    # K groups that fill the space between them have about this spread each.
    prior = spread / n_groups ** (2 / r)
    families = [family] if family else ["scale", "full"] if n_groups > 1 else ["scale"]
    within = _within(places, covariances, labels)
    fits = [fit_groups(evidence, labels, within, prior, name) for name in families]
    return max(fits, key=lambda fit: fit.fit - 0.5 * fit.complexity * np.log(n))


def _assign(evidence: Evidence, mixture: Mixture, places: Real, covariances: Real, spread: Real) -> Mixture:
    """Every row to its likeliest component and a few rounds in which rows are shared, unless that empties one."""
    labels = mixture.log_densities(evidence)[0].argmax(axis=1)
    if len(np.unique(labels)) == mixture.n_components:
        mixture = _describe(evidence, labels, places, covariances, spread, mixture.family)
    if mixture.n_components == 1:
        return mixture
    shared = soften(evidence, mixture, spread / mixture.n_components ** (2 / evidence.shape[1]), SOFT_ROUNDS)
    left = np.unique(shared.log_densities(evidence)[0].argmax(axis=1))
    return shared if len(left) == shared.n_components else mixture
