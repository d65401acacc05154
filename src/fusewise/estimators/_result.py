"""The result of the default method: clusters by size, or by those of an earlier model; and what they say of rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning

from fusewise.automatic import (
    NO_HINTS,
    OUTLIER_LEVEL,
    Choice,
    Classified,
    Classifier,
    Hints,
    LevelBlock,
    choose,
    outlier_confidence,
)
from fusewise.estimators._base import ClusteringEstimator, frame_of
from fusewise.kernels import Index, Labels, Mask, Real, Values, announcing
from fusewise.observations import (
    NO_CLUSTER,
    DaskTable,
    DataWarning,
    Entries,
    InMemory,
    RepeatedRows,
    SparseEntries,
    Table,
    check_fits,
    warn_of_blanks,
)
from fusewise.progress import shown
from fusewise.saving import saveable
from fusewise.support import (
    Flag,
    InputError,
    Instance,
    Maybe,
    Number,
    NumberArray,
    PositionArray,
    Record,
    counted,
    in_series,
)

#: A row is in no cluster if it is an outlier with a larger probability.
PROBABLE = 0.5
#: Tails of outliers in a Dask table are counted between so many values, a ratio of 1.2% apart, from 1e-12 on.
TAIL_GRID = np.append(np.geomspace(1e-12, OUTLIER_LEVEL, 2000, endpoint=False)[1:], OUTLIER_LEVEL)


@dataclass(frozen=True, eq=False)
class Labeller:
    """What labels rows: small enough to be sent to other machines.

    ``tails`` are those of the outliers of the fit in increasing order, ``tail_counts`` the number with such a tail or a
    smaller one.
    """

    classifier: Classifier
    tails: Real
    tail_counts: Index
    n_fitted: int
    outliers: bool

    def labels_and_confidence(self, found: Classified, seen: Mask) -> tuple[Labels, Real]:
        """The cluster of each row, or -1 if it is likelier an outlier than not or nothing is observed of it.

        And the probability of that cluster; of an outlier that it is one, 0 if nothing is observed.
        """
        if not self.outliers:
            return found.labels, found.sure
        probability, far = np.zeros(len(found.labels)), np.flatnonzero(found.outlying)
        probability[far] = outlier_confidence(found.tails[far], self.tails, self.n_fitted, self.tail_counts)
        outlier = probability > PROBABLE
        confidence = np.where(seen, np.where(outlier, probability, found.sure), 0.0)
        return np.where(~seen | outlier, -1, found.labels), confidence

    def of_rows(self, what: str, rows: Table) -> Any:
        """The "labels", "probabilities", "confidence" or "distances" of rows, or these "completed" from clusters."""
        if what == "completed":
            return self.classifier.completed(rows)
        if what in ("distances", "probabilities"):
            check_fits(f"the {what} of the clusters", (rows.shape[0], self.classifier.clusters.n_components), 16)
        if what == "distances":
            distances = self.classifier.distances(rows)
            distances[rows.row_counts == 0] = np.nan
            return distances.astype(np.finfo(rows.dtype).dtype, copy=False)
        found = self.classifier.classify(rows, posterior=what == "probabilities")
        if what == "probabilities":
            return found.posterior
        return self.labels_and_confidence(found, rows.row_counts > 0)[0 if what == "labels" else 1]


@saveable
@dataclass(frozen=True, eq=False)
class ClusteringResult(Record):
    """The clusters of a table in their order, the largest first, and what they say of its rows.

    Of a Dask table there are no labels, and no posterior if it is too large; ``counts`` None: each row counts once.
    """

    choice: Choice
    tails: Real
    tail_counts: Index
    n_fitted: int
    outliers: bool
    labels: Any = None  # N integers
    confidence: Real | None = None
    posterior: Real | None = None
    hints: Hints = NO_HINTS
    counts: Index | None = None

    _rules: ClassVar = {
        "choice": Instance(Choice, K="K", P="P"),
        "tails": NumberArray("outliers", low=0, high=1),
        "tail_counts": NumberArray("outliers", kinds="iu", low=1),
        "n_fitted": Number(low=1, whole=True),
        "outliers": Flag(),
        "labels": Maybe(PositionArray("N", below="K", low=-1)),
        "confidence": Maybe(NumberArray("N", low=0, high=1 + 1e-6)),
        "posterior": Maybe(NumberArray("N", "K", low=0, high=1 + 1e-6)),
        "hints": Instance(Hints),
        "counts": Maybe(NumberArray("N", kinds="iu", low=0)),
    }

    def _verify(self) -> None:
        if self.labels is not None and self.hints.rows.max(initial=-1) >= len(self.labels):
            raise ValueError("ClusteringResult.hints are on rows that do not exist")

    @property
    def n_clusters(self) -> int:
        return self.choice.n_clusters

    @property
    def labeller(self) -> Labeller:
        return Labeller(self.choice.classifier, self.tails, self.tail_counts, self.n_fitted, self.outliers)

    def of(self, table: Table) -> ClusteringResult:
        """The same clusters with the labels of the rows of another table, of which nothing else is known."""
        return replace(self, hints=NO_HINTS).labelled(self.choice.classify(table), table.row_counts > 0)

    def labelled(self, found: Classified, seen: Mask) -> ClusteringResult:
        """The same clusters with the labels of rows that were classified."""
        labels, confidence = self.labeller.labels_and_confidence(found, seen)
        return replace(self, labels=labels, confidence=confidence, posterior=found.posterior)

    def renumbered(self, numbers: Index) -> ClusteringResult:
        """The same clusters, of which cluster k has the number `numbers[k]`."""
        clusters = self.choice.clusters
        choice = replace(self.choice, clusters=replace(clusters, group=numbers[clusters.group]))
        labels = None if self.labels is None else np.append(numbers, -1)[self.labels]
        posterior = None if self.posterior is None else self.posterior.take(np.argsort(numbers), axis=1)
        return replace(self, choice=choice, labels=labels, posterior=posterior)

    def probabilities(self, table: Table) -> Real:
        """Probability of each cluster for each row of the fit, N x K; computed if it was not kept."""
        if self.posterior is not None:
            return self.posterior
        check_fits("the probabilities of the clusters", (table.shape[0], self.n_clusters), 16)
        posterior = self.choice.classify(table, self.hints, posterior=True).posterior
        assert posterior is not None
        return posterior

    def fused(self, table: Table) -> Values:
        """Centre of each row of the fit: its cluster's; of an outlier its own; of an empty row the mean of all."""
        centers, labels = self.choice.centers.astype(table.dtype), self.labels
        check_fits("fused_ (cluster_centers_[labels_], for clustered rows)", table.shape, centers.itemsize)
        fused: Values = centers[labels]
        outlying = np.flatnonzero((labels < 0) & (table.row_counts > 0))
        if len(outlying):
            fused[outlying] = self.choice.ambient(self.choice.places(table.take(outlying)))
        blank = table.row_counts == 0
        if blank.any():
            fused[blank] = np.average(self.probabilities(table), axis=0, weights=self.counts) @ centers
        return fused


def counting(table: Any, weights: Real | None) -> Any:
    """A table (or the blocks of one of Dask) with nothing observed in the columns that do not count."""
    if weights is None or weights.all():
        return table
    if not isinstance(table, Entries | SparseEntries):
        raise InputError("a table that is not in memory takes no feature_weights of 0: leave these columns out of X")
    return table.only(weights > 0)


def fate_of_blanks(outliers: bool) -> str:
    return NO_CLUSTER if outliers else "assigned to the likeliest cluster"


def cluster(
    table: Table,
    *,
    levels: tuple[LevelBlock, ...] = (),
    n_clusters: int | None = None,
    min_cluster_size: int | None = None,
    outliers: bool = True,
    seed: int = 0,
    hints: Hints = NO_HINTS,
    counts: Index | None = None,
    worth: float = 1.0,
    weights: Real | None = None,
    verbose: int = 0,
) -> ClusteringResult:
    """Cluster the rows of a table that was read, and label them; parameters are those of ``FusionClustering``.

    Row i counts `counts[i]` times, and each as `worth` rows of a larger table; `levels` are blocks of features, and
    feature j counts `weights[j]` times.
    """
    whole, table = table, counting(table, weights)
    repeated = table if counts is None else RepeatedRows(table, counts)
    n, n_seen = repeated.shape[0], repeated.n_seen
    if n_clusters is not None and n_clusters > n_seen:
        raise InputError(f"n_clusters={n_clusters} exceeds the {n_seen} rows with an observed entry")
    unused = None if weights is None else weights == 0
    warn_of_blanks(table, placed=hints.rows, fate=fate_of_blanks(outliers), unused=unused)
    if n_seen < 2:
        raise InputError(f"clustering needs at least 2 rows with an observed entry, got {n_seen} of {n}")
    with shown(verbose) as progress, announcing(progress):
        told: dict[str, Any] = {"n_clusters": n_clusters, "min_size": min_cluster_size, "weights": weights}
        search = partial(choose, repeated, levels=levels, seed=seed, worth=worth, progress=progress, **told)
        choice = search()
        if hints and not choice.obeys(table, hints):
            own = hints if counts is None else hints.among(np.repeat(np.arange(table.shape[0]), counts))
            choice = search(hints=own)
        if whole is not table:  # columns that do not count have their mean as centre
            middle = np.where(weights == 0, whole.column_means, choice.units.middle)
            choice = replace(choice, units=replace(choice.units, middle=middle))
        if isinstance(repeated, RepeatedRows):
            rows = repeated.source(np.flatnonzero(repeated.row_counts > 0)[choice.rows])
            choice = replace(choice, rows=np.cumsum(table.row_counts > 0)[rows] - 1)
        progress(f"labelling {counted(table.shape[0], 'row')}", 0, clusters=choice.n_clusters)
        if isinstance(table, DaskTable):
            result = _label_remotely(table, choice, outliers)
        else:
            result = labelled(table, choice, outliers, hints, counts)
    if n_clusters is not None and result.n_clusters < n_clusters:
        have = f"only {result.n_clusters} {'has' if result.n_clusters == 1 else 'have'} rows that are not outliers"
        message = f"{counted(n_clusters, 'cluster was', 'clusters were')} requested, but {have}"
        warnings.warn(message, ConvergenceWarning, stacklevel=4)
    return result


def labelled(table: Table, choice: Choice, outliers: bool, hints: Hints, counts: Index | None) -> ClusteringResult:
    """Label all rows; clusters without rows are left out."""
    seen = table.row_counts > 0
    seen[hints.rows] = True
    choice, found = choice.occupied(table, seen if counts is None else seen & (counts > 0), hints)
    tails = np.sort(found.tails[found.outlying & seen])
    ranks = np.arange(1, len(tails) + 1)
    result = ClusteringResult(choice, tails, ranks, table.n_seen, outliers, hints=hints, counts=counts)
    result = result.labelled(found, seen)
    inside = result.labels >= 0
    sizes = np.bincount(result.labels[inside], None if counts is None else counts[inside], choice.n_clusters)
    return result.renumbered(_by_size(sizes))


def _by_size(sizes: Any) -> Index:
    return np.asarray(np.argsort(np.argsort(-sizes, kind="stable")))


def _label_remotely(table: DaskTable, choice: Choice, outliers: bool) -> ClusteringResult:
    """Count the rows of the clusters, and the outliers by their tails; clusters without rows are left out.

    It takes one pass, and a further one where clusters were left out. Labels are computed when they are asked for.
    """
    none = np.zeros(0), np.zeros(0, np.intp)
    while True:
        result = ClusteringResult(choice, *none, table.n_seen, outliers)
        sizes, tails = table.reduce(partial(_row_counts, labeller=result.labeller), _sums)
        kept = np.flatnonzero(sizes) if sizes.any() else np.array([choice.clusters.shares.argmax()])
        if len(kept) == choice.n_clusters:
            some = np.flatnonzero(tails)
            result = replace(result, tails=TAIL_GRID[some], tail_counts=np.cumsum(tails)[some])
            return result.renumbered(_by_size(sizes))
        choice = replace(choice, clusters=choice.clusters.only(kept))


def _row_counts(rows: InMemory, begin: int, labeller: Labeller) -> tuple[Index, Index]:
    """Rows of each cluster in a block, and its outliers by their tails."""
    found, seen = labeller.classifier.classify(rows, posterior=False), rows.row_counts > 0
    sizes = np.bincount(found.labels[seen & ~found.outlying], minlength=labeller.classifier.clusters.n_components)
    places = np.searchsorted(TAIL_GRID, found.tails[seen & found.outlying])
    return sizes, np.bincount(places, minlength=len(TAIL_GRID))


def _sums(one: tuple[Index, Index], other: tuple[Index, Index]) -> tuple[Index, Index]:
    return one[0] + other[0], one[1] + other[1]


#: Jaccard similarity up to which a cluster is dissolved rather than the same (Hennig, 2007).
DISSOLVED = 0.5


@saveable
@dataclass(frozen=True, eq=False, repr=False)
class Matching(Record):
    """How the K clusters of a model match those of an earlier one, by the rows of the table that they have in common.

    Attributes
    ----------
    earlier : the earlier cluster that each one continues; -1 if it is new.
    sizes, common : rows of each cluster, and how many of them the earlier model predicts to be in that one.
    earlier_sizes : rows of each of the J earlier clusters, as the earlier model predicts them.
    """

    earlier: Index
    sizes: Index
    common: Index
    earlier_sizes: Index

    _rules: ClassVar = {
        "earlier": NumberArray("K", kinds="iu", low=-1, below="J"),
        "sizes": NumberArray("K", kinds="iu", low=0),
        "common": NumberArray("K", kinds="iu", low=0),
        "earlier_sizes": NumberArray("J", kinds="iu", low=0),
    }

    @property
    def similarity(self) -> Real:
        """``|A ∩ B| / |A ∪ B|`` for each cluster A and the earlier one B that it continues; 0 if it is new."""
        either = self.sizes + np.append(self.earlier_sizes, 0)[self.earlier] - self.common
        return np.asarray(self.common / np.maximum(either, 1))

    @property
    def gone(self) -> Index:
        """The earlier clusters that none continues."""
        return np.setdiff1d(np.arange(len(self.earlier_sizes)), self.earlier)

    def __repr__(self) -> str:
        found = []
        for k, (before, likeness) in enumerate(zip(self.earlier, self.similarity, strict=True)):
            if before < 0:
                found.append(f"cluster {k} is new")
                continue
            of = f"{self.common[k]:,} of {counted(int(self.earlier_sizes[before]), 'row')} of the earlier one"
            what = "is" if likeness > DISSOLVED else "is in part"
            others = counted(int(self.sizes[k] - self.common[k]), "other")
            found.append(f"cluster {k} {what} the earlier cluster {before}: {of}, and {others}")
        if len(self.gone):
            names = in_series([str(j) for j in self.gone])
            found.append(f"earlier {'clusters' if len(self.gone) > 1 else 'cluster'} {names}: gone")
        return "\n".join(found)

    def to_frame(self) -> Any:
        """A pandas DataFrame, one line for each cluster."""
        before = np.append(self.earlier_sizes, 0)[self.earlier]
        columns = {"earlier": self.earlier, "size": self.sizes, "earlier_size": before, "common": self.common}
        return frame_of(columns | {"similarity": self.similarity})


def labels_before(like: Any, X: Any, **half: Any) -> tuple[Labels, int]:
    """The clusters that an earlier model predicts for the rows of a table, and their number.

    `half` are the errors and bounds of entries, if there are any.
    """
    if not isinstance(like, ClusteringEstimator):
        what = f"got {type(like).__name__}" + (": read the file with fusewise.load" if isinstance(like, str) else "")
        raise InputError(f"like must be an earlier model, fitted: {what}")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*no observed entry", DataWarning)  # the fit says so
        return like.predict(X, **half), int(like.n_clusters_)


def matched(result: ClusteringResult, before: Labels, n_before: int) -> tuple[ClusteringResult, Matching]:
    """A result with its clusters renumbered so that their similarities with those before add up to the most.

    Numbers have no gaps. So the number of a cluster that is gone is needed if there are too few others; then it goes to
    a cluster with a number beyond the last one, before it goes to a new cluster.
    """
    labels, k = result.labels, result.n_clusters
    counts = np.ones(len(labels), np.intp) if result.counts is None else result.counts
    table = np.zeros((k + 1, n_before + 1), np.intp)
    np.add.at(table, (labels, before), counts)  # -1 is the last
    common, sizes, earlier_sizes = table[:k, :n_before], table[:k].sum(axis=1), table[:, :n_before].sum(axis=0)
    either = sizes[:, None] + earlier_sizes - common
    earlier = np.full(k, -1)
    ours, theirs = linear_sum_assignment(common / np.maximum(either, 1), maximize=True)
    some = common[ours, theirs] > 0
    earlier[ours[some]] = theirs[some]
    numbers = np.where(earlier < k, earlier, -1)
    others = np.flatnonzero(numbers < 0)
    others = others[np.argsort(earlier[others] < 0, kind="stable")]  # new ones last
    numbers[others] = np.setdiff1d(np.arange(k), numbers)
    old = np.argsort(numbers)
    own = np.where(earlier >= 0, np.append(common, np.zeros((k, 1), int), axis=1)[np.arange(k), earlier], 0)
    return result.renumbered(numbers), Matching(earlier[old], sizes[old], own[old], earlier_sizes)
