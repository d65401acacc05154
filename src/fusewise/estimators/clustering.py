"""The estimator ``FusionClustering``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin

from fusewise.automatic import NO_HINTS, Choice, Hints
from fusewise.estimators.automatic_fit import AutomaticFitMixin
from fusewise.estimators.base import FusionEstimator
from fusewise.estimators.certainty import CertaintyMixin
from fusewise.estimators.fitted import CLUSTERING
from fusewise.estimators.hinting import read_hints
from fusewise.estimators.learning import COMPUTED, LearningMixin
from fusewise.estimators.new_rows import NewRowsMixin
from fusewise.estimators.plain_fit import PlainFitMixin
from fusewise.estimators.remote import LAZY, RemoteMixin
from fusewise.estimators.showing import ShowingMixin
from fusewise.fusion import FusionPath
from fusewise.kernels import Index, Real
from fusewise.observations import DaskTable, RepeatedRows, Table, as_counts, is_dask
from fusewise.saving.registry import saveable
from fusewise.support.errors import InputError


@saveable
class FusionClustering(
    AutomaticFitMixin,
    PlainFitMixin,
    NewRowsMixin,
    CertaintyMixin,
    LearningMixin,
    RemoteMixin,
    ShowingMixin,
    ClusterMixin,  # type: ignore[misc]
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    FusionEstimator,
):
    """Clustering of data with missing values by fusion of centres.

    Every row i has its own centre u_i, and

        sum_i f_i(u_i) + lam sum_i sum_j c_ij phi(||u_i - u_j||)

    is minimised, where f_i measures the distance to the observed entries of row i and lam is the strength of the
    fusion penalty. A saturating penalty phi makes the centres of similar rows fuse; the fused groups are the clusters.
    No imputation is needed beforehand, and the number of clusters is found automatically.

    **By default** no parameter needs to be set: rows are placed in a low-dimensional subspace of the standardised
    table, each with the uncertainty due to its missing values; l0 fusion along a graph of neighbours gives a tree of
    nested partitions, and the one that best explains the observed entries is chosen (``fusewise.automatic.choose``).
    **The paper's plain algorithm** is ``FusionClustering(rank=None, n_neighbors=None, init="partial",
    penalty=H1(sigma), lam=lam)``. Setting any of lam, sigma, a constrained fidelity, init, ``rank=None`` or
    ``n_neighbors=None`` selects it; the remaining parameters then follow the simple rules given below.

    Parameters
    ----------
    penalty : name, or an object with parameters such as ``H1(sigma)``, where sigma is the distance beyond which the
        penalty levels off; in the plain algorithm it defaults to half the median distance to the nearest neighbour.
    fidelity : "quadratic", "box", "ball", or ``Box(epsilon)``, ``Ball(radius)``.
    lam : strength of the fusion penalty; "auto" in the plain algorithm computes a path of increasing lam and chooses
        the partition that stays the same over the largest number of steps.
    init : "partial", "zero", "mean", "subspace", or an array of centres; "auto" is "partial" in the plain algorithm.
    rank : dimension of the subspace; None uses the full space, as in the paper.
    n_neighbors : number of neighbours of each row in the graph; None uses all pairs, as in the paper.
    n_clusters : number of clusters; None chooses it from the data.
    min_cluster_size : smallest size of a cluster. "auto" is 1.5% of the rows and at least 3, but in tables of more than
        5000 rows groups of a few rows far from all others are clusters too; in the plain algorithm it is 2, and
        smaller groups are outliers.
    max_iter, tol : for each lam of the plain algorithm, the maximum number of iterations and the tolerance on the
        relative gradient.
    device : where the plain algorithm computes: "cpu", "cuda" or "auto" (a GPU if there is one). The default method
        runs on the CPU.
    random_state : seed for sampling rows of tables with more than 5000 rows, and for spreading out rows that are equal
        by rounding; nothing else is random.
    verbose : 1 shows each stage (iteration, objective, time left).
    categorical_features : the columns that are categories: "from_dtype" takes strings, categories and booleans of a
        pandas or polars frame; or a mask, indices or names. A category has the probabilities of its levels.
    semi_supervised : whether y holds known labels: rows with the same label are in one cluster, rows with different
        labels in different ones, and rows without a label (missing, or -1) in any of these or in further clusters.
    summary_size : number of rows that ``partial_fit`` keeps of all that it was given.

    Attributes
    ----------
    labels_ : cluster of each row, largest cluster first; -1 for outliers and for rows with nothing observed.
    n_clusters_ : number of clusters.
    cluster_centers_ : centres of the clusters, K x P. Where skewed columns were made symmetric (``limits_`` says so),
        they are nearer to medians than to means.
    encoder_ : how the columns of a table with categories were encoded, with the names of the features of centres in
        ``encoder_.features``: a number, or the share of each level of a category. None if there are no categories.
    fused_ : centres u_i of the rows, N x P; each clustered row has the centre of its cluster, and each outlier its
        own. By default it is computed on access.
    probabilities_ : N x K, the probability of each cluster for each row; computed on first access if these are more
        than 10 million numbers. None in the plain algorithm.
    confidence_ : N, the largest of these; for an outlier the probability that it is one (one minus the false discovery
        rate: of rows as far out, the fraction that is not expected by chance); 0 for a row with nothing observed.
    stability_ : result of the last call of ``stability``, if there was one.
    limits_ : what may have been missed, and why, in plain sentences; empty if no limit was met.
    lam_, penalty_, fidelity_, rank_ : values that were used.
    noise_ : standard deviation of the noise about the subspace; by default in standard deviations of the columns.
    path_ : candidates of the result with their criterion: a ``Choice``, a ``FusionPath``, or None if lam was given.
    objective_, n_iter_, converged_ : objective, number of iterations and convergence of the chosen solution (by
        default minus the criterion, the number of partitions compared, and False if interrupted).
    observations_ : the table as read: ``Entries``, or ``SparseEntries`` or ``StreamedEntries`` if it is large.
    n_features_in_, feature_names_in_ : number and names of the features.

    Examples
    --------
    >>> from fusewise import FusionClustering
    >>> from fusewise.datasets import hide_entries, make_clusters
    >>> X, y, _ = make_clusters(3, 30, 10, noise=0.1, random_state=0)
    >>> model = FusionClustering().fit(hide_entries(X, 0.3, random_state=0))
    >>> model.n_clusters_
    3

    Labels of some rows, -1 where they are unknown:

    >>> known = [label if row % 10 == 0 else -1 for row, label in enumerate(y)]
    >>> model = FusionClustering(semi_supervised=True).fit(X, known)
    >>> len(set(model.labels_[::10][:3]))
    1
    """

    _rules: ClassVar = CLUSTERING

    transform = NewRowsMixin.transform  # scikit-learn's ``set_output`` looks only at methods that the class has itself

    def _verify(self) -> None:
        if isinstance(self.path_, Choice) and len(np.unique(getattr(self, "_order", ()))) != self.n_clusters_:
            raise ValueError("FusionClustering._order is not an order of the clusters")
        if vars(self).get("labels_") is None and not isinstance(self.observations_, DaskTable):
            raise ValueError("FusionClustering.labels_ is missing")
        if self._given.rows.max(initial=-1) >= self.observations_.shape[0]:
            raise ValueError("FusionClustering._hints are on rows that do not exist")

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, must_link: Any = None, cannot_link: Any = None
    ) -> Self:
        """Cluster the rows of X (missing entries: NaN, null, or not stored).

        By default X is made dense, or read from a ``numpy.memmap`` or ``RowBlocks``, in blocks of rows; the plain
        algorithm needs all of X in memory.

        Parameters
        ----------
        X : the table; or an iterator over blocks of rows, which come once: each is given to ``partial_fit``.
        y : ignored, unless ``semi_supervised``: then the label of each row, of any type; None, NaN or -1 if unknown.
        sample_weight : a number of rows for each row: a row of weight 3 counts as three equal rows, and one of weight 0
            does not count, but is labelled as by ``predict``. Weights that are not whole are rounded so that every
            running sum is correct to within 0.5. The plain algorithm takes no weights.
        must_link : pairs (i, j) of rows, numbered from 0, that must be in the same cluster.
        cannot_link : pairs of rows that must be in different clusters.
        """
        self._check_parameters()
        if isinstance(X, Iterator):
            if any(given is not None for given in (sample_weight, must_link, cannot_link)):
                raise InputError("a stream of blocks takes no sample_weight, must_link or cannot_link")
            return self._fit_stream(X)
        if is_dask(X):
            return self._fit_dask(X, sample_weight, must_link, cannot_link)
        counts = as_counts(sample_weight, X)
        if counts is not None and self.is_plain():
            raise InputError(
                "the plain algorithm takes no sample_weight: repeat rows, or leave lam, penalty, fidelity, "
                "init, rank and n_neighbors at their defaults"
            )
        table = self._read(X, y, reset=True, counts=counts)
        self.__dict__.pop("_stream", None)
        return self._fit_table(table, self._read_hints(table.shape[0], y, must_link, cannot_link), counts)

    def _fit_table(self, table: Table, hints: Hints, counts: Index | None = None, worth: float = 1.0) -> Self:
        """Cluster the rows of a table that was read.

        Parameters
        ----------
        table : the rows.
        hints : what is known of them.
        counts : how often each row counts; None: once.
        worth : rows of a larger table that a row is worth.
        """
        repeated = table if counts is None else RepeatedRows(table, counts)
        n_seen = repeated.n_seen
        if self.n_clusters is not None and self.n_clusters > n_seen:
            raise InputError(f"n_clusters={self.n_clusters} exceeds the {n_seen} rows with an observed entry")
        for name in ("fused_", "stability_", "labels_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self.observations_, self._hints = table, hints
        self._others = None
        self._counts = counts
        self.path_: Choice | FusionPath | None = None
        self.probabilities_: Real | None = None
        self.confidence_: Real | None = None
        self.rank_: int | None = self._number("rank")
        self.limits_: tuple[str, ...] = ()
        if self.is_plain():
            self.observations_ = table.dense()
            self._fit_plain(self.observations_)
        else:
            self._fit_automatic(table, repeated, worth)
        return self

    def fit_predict(self, X: Any, y: Any = None, **hints: Any) -> Any:
        """Cluster the rows of X and return ``labels_``; y and hints are those of ``fit``."""
        return self.fit(X, y, **hints).labels_

    def _read_hints(self, n_rows: int, y: Any, must_link: Any, cannot_link: Any) -> Hints:
        if self.semi_supervised and y is None:
            raise InputError("semi_supervised=True needs y, the label of each row, -1 where it is unknown")
        if not self.semi_supervised and must_link is None and cannot_link is None:
            return NO_HINTS
        if self.is_plain():
            raise InputError(
                "the plain algorithm takes no hints: leave lam, penalty, fidelity, init, rank and n_neighbors at "
                "their defaults, or leave out must_link, cannot_link and semi_supervised"
            )
        return read_hints(n_rows, must_link, cannot_link, y if self.semi_supervised else None, self.n_clusters)

    def __getattr__(self, name: str) -> Any:
        # Not properties: dir() of a scikit-learn estimator evaluates every property, and computing these may be long.
        if name in COMPUTED and self._is_stale:
            self._settle()
            return getattr(self, name)
        choice = vars(self).get("path_")
        if name in ("fused_", *LAZY) and isinstance(choice, Choice):
            if isinstance(vars(self).get("observations_"), DaskTable):
                return self._lazy_attribute(name)
            if name == "fused_":
                return self._fused(choice)
            if name == "probabilities_":
                self.probabilities_ = self._probabilities(self.observations_, self._given)
                return self.probabilities_
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def _n_features_out(self) -> int:
        return int(self.n_clusters_)
