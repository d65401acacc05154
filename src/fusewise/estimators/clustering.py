"""The estimator ``FusionClustering``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fusewise.automatic import NO_HINTS, Choice, Classified, Hints, LevelBlock, choose
from fusewise.estimators.base import FusionEstimator
from fusewise.estimators.certainty import CertaintyMixin
from fusewise.estimators.fitted import CLUSTERING
from fusewise.estimators.hinting import read_hints
from fusewise.estimators.learning import COMPUTED, LearningMixin
from fusewise.estimators.placement import Placement, squared_distances
from fusewise.estimators.remote import LAZY, RemoteMixin
from fusewise.estimators.showing import ShowingMixin
from fusewise.fusion import Solution, fuse
from fusewise.fusion.fidelity import Quadratic, as_fidelity
from fusewise.fusion.fuse import lam_without_effect
from fusewise.fusion.path import FusionPath, fusion_path
from fusewise.fusion.penalties import L0, Penalty, as_penalty
from fusewise.fusion.rules import choose_sigma, cut_to, lam_schedule, longest_plateau
from fusewise.fusion.setup import check_pairs_fit, noise_level, pose
from fusewise.kernels.compiling import announcing
from fusewise.kernels.types import Index, Real
from fusewise.kernels.words import counted
from fusewise.observations import Entries, RepeatedRows, Table, as_counts, warn_of_blanks
from fusewise.observations.checks import check_fits
from fusewise.observations.dask_blocks import is_dask
from fusewise.observations.dask_table import DaskTable
from fusewise.observations.groups import group_means
from fusewise.progress import shown
from fusewise.saving.registry import saveable


@saveable
class FusionClustering(
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
    device : "cpu", "cuda" or "auto", the device of the plain algorithm. The default method runs on the CPU.
    random_state : seed for sampling rows of tables with more than 5000 rows; nothing else is random.
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
    cluster_centers_ : centres of the clusters, K x P.
    encoder_ : how the columns of a table with categories were encoded, with the names of the features of centres in
        ``encoder_.features``: a number, or the share of each level of a category. None if there are no categories.
    fused_ : centres u_i of the rows, N x P; each clustered row has the centre of its cluster, and each outlier its
        own. By default it is computed on access.
    probabilities_ : N x K, the probability of each cluster for each row; computed on access if these are more than
        100 million numbers. None in the plain algorithm.
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
                raise ValueError("a stream of blocks takes no sample_weight, must_link or cannot_link")
            return self._fit_stream(X)
        if is_dask(X):
            return self._fit_dask(X, sample_weight, must_link, cannot_link)
        counts = as_counts(sample_weight, X)
        if counts is not None and self.is_plain():
            raise ValueError(
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
            raise ValueError(f"n_clusters={self.n_clusters} exceeds the {n_seen} rows with an observed entry")
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
            raise ValueError("semi_supervised=True needs y, the label of each row, -1 where it is unknown")
        if not self.semi_supervised and must_link is None and cannot_link is None:
            return NO_HINTS
        if self.is_plain():
            raise ValueError(
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
                return self._probabilities(self.observations_, self._given)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _fused(self, choice: Choice) -> npt.NDArray[Any]:
        """Centre of each row: its cluster's; for an outlier its own; for an empty row the weighted mean of all."""
        table, centers = self.observations_, self.cluster_centers_
        check_fits("fused_ (cluster_centers_[labels_], for clustered rows)", table.shape, centers.itemsize)
        fused: npt.NDArray[Any] = centers[self.labels_]
        alone = np.flatnonzero((self.labels_ < 0) & (table.row_counts > 0))
        if len(alone):
            fused[alone] = choice.ambient(choice.places(table.take(alone)))
        blank = table.row_counts == 0
        if blank.any():
            counts = vars(self).get("_counts")
            fused[blank] = np.average(np.asarray(self.probabilities_), axis=0, weights=counts) @ centers
        return fused

    def predict(self, X: Any) -> Any:
        """Predict the cluster of each row of X; -1 for outliers and for rows with nothing observed.

        Of a Dask table the result of this and of the following methods is lazy, with the same chunks (or divisions and
        index).
        """
        if is_dask(X):
            return self._lazily("labels", self._source(X))
        check_is_fitted(self)
        table = self._read(X, None, reset=False)
        warn_of_blanks(table, columns=False)
        return self._assigned(table)

    def _assigned(self, table: Table) -> npt.NDArray[np.intp]:
        """The cluster of each row of a table that was read."""
        if isinstance(self.path_, Choice):
            place = self._placement
            return place.labels(self.path_.classify(table, posterior=False), table.row_counts > 0)
        if self.n_clusters_:
            distances = self._squared_distances(table)
            labels = np.argmin(np.where(np.isnan(distances), np.inf, distances), axis=1)
        else:
            labels = np.full(table.shape[0], -1, dtype=np.intp)
        return np.where(table.row_counts > 0, labels, -1)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each cluster for each row of X, N x K; the shares of the clusters if nothing is observed."""
        if is_dask(X):
            return self._lazily("probabilities", self._source(X))
        check_is_fitted(self)
        table = self._read(X, None, reset=False)
        if not isinstance(self.path_, Choice):
            raise AttributeError("the plain algorithm has no probabilities: use the default, or predict")
        return self._probabilities(table)

    def _probabilities(self, table: Table, hints: Hints = NO_HINTS) -> Real:
        """Probability of each cluster for each row, N x K, with clusters ordered by size."""
        assert isinstance(self.path_, Choice)
        check_fits("the probabilities of the clusters", (table.shape[0], self.n_clusters_), 16)
        posterior = np.asarray(self.path_.classify(table, hints, posterior=True).posterior)
        return posterior[:, np.argsort(self._order)]

    def predict_confidence(self, X: Any) -> Any:
        """Confidence in the label that ``predict`` gives to each row of X, as ``confidence_`` for those of the fit."""
        if is_dask(X):
            return self._lazily("confidence", self._source(X))
        check_is_fitted(self)
        table = self._read(X, None, reset=False)
        if not isinstance(self.path_, Choice):
            raise AttributeError("the plain algorithm has no probabilities: use the default, or predict")
        return self._placement.confidence(self.path_.classify(table, posterior=False), table.row_counts > 0)

    def transform(self, X: Any) -> Any:
        """Distances of the rows of X to the centres, scaled from the observed entries to all; NaN without any."""
        if is_dask(X):
            return self._lazily("distances", self._source(X))
        check_is_fitted(self)
        return np.sqrt(self._squared_distances(self._read(X, None, reset=False)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Negative mean squared distance of the observed entries of X from the nearest centre (y is ignored).

        With `sample_weight`, each row counts as often as its weight says.
        """
        check_is_fitted(self)
        table = self._read(X, y, reset=False)
        if not self.n_clusters_:
            return -np.inf
        squares = self._squared_distances(table).min(axis=1) / table.shape[1]
        seen = table.row_counts > 0
        weights = table.row_counts * (1.0 if sample_weight is None else np.asarray(sample_weight, dtype=float))
        return -float(np.average(squares[seen], weights=weights[seen]))

    def _squared_distances(self, table: Table) -> Real:
        """Squared distances to the cluster centres, N x K."""
        return squared_distances(table, self.cluster_centers_)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_clusters_)

    def _number(self, name: str) -> int | None:
        """The value of a numeric parameter, or None for "auto"."""
        value = getattr(self, name)
        return None if isinstance(value, str) else value

    def _fit_automatic(self, table: Table, repeated: Table, worth: float) -> None:
        """Fit to the rows as often as they count, and label them all."""
        hints = self._hints
        warn_of_blanks(table, placed=hints.rows)
        n, n_seen = repeated.shape[0], repeated.n_seen
        if n_seen < 2:
            raise ValueError(f"clustering needs at least 2 rows with an observed entry, got {n_seen} of {n}")
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31))
        with shown(self.verbose) as progress, announcing(progress):
            search = partial(
                choose,
                repeated,
                levels=self._levels(),
                n_clusters=self.n_clusters,
                rank=self._number("rank"),
                n_neighbors=self._number("n_neighbors"),
                min_size=self._number("min_cluster_size"),
                seed=seed,
                worth=worth,
                progress=progress,
            )
            choice = search()
            if hints and not choice.obeys(table, hints):
                own = hints if self._counts is None else hints.among(np.repeat(np.arange(table.shape[0]), self._counts))
                choice = search(hints=own, before=choice.clusters)
            if isinstance(repeated, RepeatedRows):
                rows = repeated.source(np.flatnonzero(repeated.row_counts > 0)[choice.rows])
                choice = replace(choice, rows=np.cumsum(table.row_counts > 0)[rows] - 1)
            progress(f"labelling {counted(table.shape[0], 'row')}", 0, clusters=choice.n_clusters)
            self._n_fitted = table.n_seen
            choice = (
                self._labelled_remotely(table, choice)
                if isinstance(table, DaskTable)
                else self._labelled(table, choice)
            )
        self.n_clusters_ = choice.n_clusters
        self.cluster_centers_ = choice.centers.astype(table.dtype)[np.argsort(self._order)]
        self.lam_, self.penalty_, self.fidelity_ = choice.lam, L0(), Quadratic()
        self.rank_, self.noise_ = choice.subspace.rank, float(np.sqrt(choice.subspace.noise))
        self.objective_, self.n_iter_ = -choice.criteria[choice.chosen], len(choice.criteria)
        self.converged_ = not choice.interrupted
        self.limits_ = choice.limits

    def _labelled(self, table: Table, choice: Choice) -> Choice:
        """Label all rows, with clusters in the order of their sizes; those without rows are left out."""
        hints, seen = self._hints, table.row_counts > 0
        seen[hints.rows] = True
        choice, found = choice.occupied(table, seen if self._counts is None else seen & (self._counts > 0), hints)
        inside = seen & ~found.outlying
        often = None if self._counts is None else self._counts[inside]
        self._tails = np.sort(found.tails[found.outlying & seen])
        self._tail_counts = np.arange(1, len(self._tails) + 1)
        self._put_in_order(choice, np.bincount(found.labels[inside], often, choice.n_clusters))
        self._take_labels(found, seen)
        return choice

    def _put_in_order(self, choice: Choice, sizes: npt.NDArray[Any]) -> None:
        """Keep a choice, its clusters ordered by their sizes."""
        self.path_ = choice
        if self.n_clusters is not None and choice.n_clusters < self.n_clusters:
            have = f"only {choice.n_clusters} {'has' if choice.n_clusters == 1 else 'have'} rows that are not outliers"
            message = f"{counted(self.n_clusters, 'cluster was', 'clusters were')} requested, but {have}"
            warnings.warn(message, ConvergenceWarning, stacklevel=5)
        self._order = np.argsort(np.argsort(-sizes, kind="stable"))

    def _describe(self, table: Table) -> None:
        """Label the rows of a table, and keep it as the one that was observed."""
        assert isinstance(self.path_, Choice)
        self.observations_ = table
        self._take_labels(self.path_.classify(table), table.row_counts > 0)

    def _take_labels(self, found: Classified, seen: npt.NDArray[np.bool_]) -> None:
        place = self._placement
        self.labels_, self.confidence_ = place.labels(found, seen), place.confidence(found, seen)
        self.__dict__.pop("probabilities_", None)  # computed on access, if they are many
        if found.posterior is not None:
            self.probabilities_ = place.probabilities(found)

    @property
    def _placement(self) -> Placement:
        """What labels rows."""
        held, choice = vars(self), self.path_
        if not isinstance(choice, Choice):
            raise AttributeError("the plain algorithm has no probabilities: use the default, or predict")
        # Models of earlier versions have no tails.
        tails: Real = held.get("_tails", np.zeros(0))
        counts = held.get("_tail_counts")
        counts = np.arange(1, len(tails) + 1) if counts is None else counts
        n = held.get("_n_fitted") or self.observations_.n_seen
        return Placement(choice.classifier, self._order, tails, counts, n)

    def _levels(self) -> tuple[LevelBlock, ...]:
        """The blocks of features that hold the levels of a category."""
        encoder = self._encoder
        pairs = [] if encoder is None else zip(encoder.levels, encoder.ordered, strict=True)
        return tuple(LevelBlock(start, stop, ordered) for (start, stop), ordered in pairs)

    def _fit_plain(self, entries: Entries) -> None:
        penalty = as_penalty(self.penalty)
        check_pairs_fit(entries, self._settings()["n_neighbors"], self.device)  # before any work
        some = entries.row_counts > 0
        seen = entries if some.all() else entries.take(np.flatnonzero(some))
        if getattr(penalty, "sigma", 1.0) is None:
            penalty = penalty.replace(sigma=choose_sigma(seen))
        if isinstance(self.lam, str):
            self._fit_path(entries, penalty)
        else:
            solution = fuse(entries, lam=self.lam, penalty=penalty, **self._settings())
            self._take(solution, self._joined(FusionPath((solution,)))[1])
        self.noise_ = noise_level(seen)

    def _settings(self) -> dict[str, Any]:
        """Settings of the plain algorithm, with "auto" resolved."""
        automatic = {"init": "partial", "rank": None, "n_neighbors": "auto", "min_cluster_size": 2}
        chosen = {k: v if isinstance(p := getattr(self, k), str) and p == "auto" else p for k, v in automatic.items()}
        return {**chosen, **{k: getattr(self, k) for k in ("fidelity", "max_iter", "tol", "device", "verbose")}}

    def _fit_path(self, entries: Entries, penalty: Penalty) -> None:
        """Compute a path of increasing lam and choose one of its points."""
        settings = self._settings()
        if as_fidelity(self.fidelity).constrained:
            path = fusion_path(entries, lams=1.0, penalty=penalty, **settings)
        else:
            graph = settings["rank"], settings["n_neighbors"], self.device
            posed = pose(entries, None, 1.0, penalty, self.fidelity, *graph)
            lams = lam_schedule(lam_without_effect(posed.problem))
            path = fusion_path(entries, lams=lams, penalty=penalty, **settings)
        k, labels = self._joined(path)
        self._take(path[k], labels)
        self.path_ = path

    def _joined(self, path: FusionPath) -> tuple[int, npt.NDArray[np.intp] | None]:
        """The chosen point of a path, and its labels after merging groups down to ``n_clusters`` (if given)."""
        if self.n_clusters is None:
            return longest_plateau(path), None
        k, labels = cut_to(path, self.n_clusters)
        found = int(labels.max(initial=-1)) + 1
        if found < self.n_clusters:
            message = f"{self.n_clusters} clusters were requested, but only {found} remain: decrease lam or sigma"
            warnings.warn(message, ConvergenceWarning, stacklevel=4)
        return k, labels

    def _take(self, solution: Solution, labels: npt.NDArray[np.intp] | None = None) -> None:
        """Store a solution as the result, with its own labels or the given ones."""
        self.labels_ = solution.labels if labels is None else labels
        self.fused_ = solution.centers
        self.n_clusters_ = int(self.labels_.max(initial=-1)) + 1
        self.cluster_centers_ = group_means(self.fused_, self.labels_)
        self.lam_, self.penalty_, self.fidelity_ = solution.lam, solution.penalty, solution.fidelity
        self.objective_, self.converged_ = solution.objective, solution.converged
        self.n_iter_ = max(1, solution.n_iter)
