"""The estimator ``FusionClustering``: the default method, which is told nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fusewise.automatic import Alternative, Choice, LevelBlock, Stability
from fusewise.estimators._base import COMMON, COUNT, ClusteringEstimator, in_plain_words
from fusewise.estimators._comparison import ClusterComparison, compare
from fusewise.estimators._explanation import Explanation, explanations
from fusewise.estimators._inputs import (
    lazy_rows,
    read_dask,
    read_hints,
    read_weights,
    refuse_inexact,
    source_of,
    warn_of_drift,
    with_rows,
)
from fusewise.estimators._result import (
    ClusteringResult,
    Matching,
    cluster,
    counting,
    fate_of_blanks,
    labels_before,
    matched,
)
from fusewise.estimators._stability import Alternatives, alternatives_of, stability_of
from fusewise.kernels import Real, Values
from fusewise.observations import (
    DaskTable,
    Entries,
    RowSample,
    SparseEntries,
    StreamedEntries,
    Table,
    as_counts,
    is_dask,
    warn_of_blanks,
)
from fusewise.saving import saveable
from fusewise.support import Flag, InputError, Instance, Maybe, Several, Word, counted


@saveable
class FusionClustering(ClusteringEstimator):
    """Clustering of data with missing values; no parameter needs to be set.

    Rows are placed in a low-dimensional subspace of the standardised table, each with the uncertainty due to its
    missing values. Fusion of neighbours along a graph, by the penalty ``lam * #{i, j: u_i != u_j}`` on their centres
    u_i, gives a tree of nested partitions, and the partition is taken that best explains the observed entries. No
    imputation is needed beforehand. ``PenalizedFusion`` is the paper's algorithm, for given lam and penalty.

    Parameters
    ----------
    n_clusters : number of clusters; None chooses it from the data.
    categorical_features : the columns that are categories: "from_dtype" takes strings, categories and booleans of a
        pandas or polars frame; or a mask, indices or names; or a ``FrameEncoder`` that was made for such tables. A
        category has the probabilities of its levels.
    feature_weights : how often each column counts: a number for each column, or a mapping from names or patterns of
        columns, {"age": 2, "q_*": 0.5}. Whole weights repeat a column by measurements that are as independent of it as
        two rows of a cluster are (but as evidence of further clusters it counts once); a column of weight 0 is not
        used, and its centres are its mean. None: all count once.
    min_cluster_size : smallest size of a cluster. None is 1.5% of the rows and at least 3, but in tables of more than
        5000 rows groups of a few rows far from all others are clusters too.
    outliers : whether rows that are far from every cluster are in none (label -1). If False, every row gets its
        likeliest cluster, which for a row with nothing observed is the one with the largest share.
    semi_supervised : whether y holds known labels: rows with the same label are in one cluster, rows with different
        labels in different ones, and rows without a label (missing, or -1) in any of these or in further clusters.
    device : "cpu" or "auto": this method computes on the CPU, and "cuda" is an error. ``PenalizedFusion`` and
        ``fusewise.mri`` compute on GPUs.
    random_state : seed for sampling rows of tables with more than 5000 rows, and for spreading out rows that are equal
        by rounding; nothing else is random.
    verbose : 1 shows each stage and its time.

    Attributes
    ----------
    labels_ : cluster of each row, largest cluster first; -1 for outliers and for rows with nothing observed.
    n_clusters_ : number of clusters.
    cluster_centers_ : centres of the clusters, K x P. Where skewed columns were made symmetric (``limits_`` says so),
        they are nearer to medians than to means.
    encoder_ : how the columns of a table with categories were encoded, with the names of the features of centres in
        ``encoder_.features``: a number, or the share of each level of a category. None if there are no categories.
    fused_ : centres u_i of the rows, N x P, computed on access; each clustered row has the centre of its cluster, and
        each outlier its own.
    probabilities_ : N x K, the probability of each cluster for each row; computed on access if these are more than 10
        million numbers.
    confidence_ : N, the largest of these; for an outlier the probability that it is one (one minus the false discovery
        rate: of rows as far out, the fraction that is not expected by chance); 0 for a row with nothing observed.
    stability_ : result of the last call of ``stability``, if there was one.
    matching_ : how the clusters match those of the model given as `like`, if one was: printed in words, with
        ``similarity`` and ``to_frame``.
    cluster_names_ : names given to the clusters (by ``fusewise fit --name-clusters``), if there are any.
    limits_ : what may have been missed, and why, and which clusters have no gap between them, in plain sentences.
    rank_ : dimension of the subspace.
    noise_ : standard deviation of the noise about the subspace, in standard deviations of the columns.
    path_ : the candidates along the tree, with their criterion.
    converged_ : False if Ctrl-C ended the comparison of candidates early.
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

    _takes_half_known = True
    _parameters: ClassVar = {
        "n_clusters": Maybe(COUNT),
        "min_cluster_size": Maybe(COUNT),
        "outliers": Flag(),
        "semi_supervised": Flag(),
    }

    #: What a saved model holds, of N rows, P features and K clusters.
    _rules: ClassVar = COMMON | {
        "observations_": Instance(Entries, SparseEntries, StreamedEntries, DaskTable, N="N", P="P"),
        "_result": Maybe(Instance(ClusteringResult, K="K", N="N", P="P")),
        "_stream": Maybe(Instance(RowSample, P="P")),
        "_others": Maybe(Several(Instance(Alternative, N="N"))),
        "stability_": Maybe(Instance(Stability, K="K", N="N")),
        "cluster_names_": Maybe(Several(Word(), "K")),
        "matching_": Maybe(Instance(Matching, K="K")),
    }

    observations_: Any
    stability_: Stability
    cluster_names_: tuple[str, ...]
    matching_: Matching
    _result: ClusteringResult | None
    _stream: RowSample
    _others: tuple[Alternative, ...]

    @in_plain_words
    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        categorical_features: Any = "from_dtype",
        feature_weights: Any = None,
        min_cluster_size: int | None = None,
        outliers: bool = True,
        semi_supervised: bool = False,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.categorical_features = categorical_features
        self.feature_weights = feature_weights
        self.min_cluster_size = min_cluster_size
        self.outliers = outliers
        self.semi_supervised = semi_supervised
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.device not in ("cpu", "auto"):
            raise InputError(
                f"device={self.device!r}: this method computes on the CPU, so device must be 'cpu' or 'auto'; "
                "PenalizedFusion computes on a GPU"
            )

    def _verify(self) -> None:
        result = self._result
        if result is not None and result.labels is None and not isinstance(self.observations_, DaskTable):
            raise ValueError("FusionClustering has no labels")

    # Fitting

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        must_link: Any = None,
        cannot_link: Any = None,
        like: Any = None,
        error: Any = None,
        lower: Any = None,
        upper: Any = None,
    ) -> Self:
        """Cluster the rows of X (missing entries: NaN, null, or not stored).

        X is made dense, or read from a ``numpy.memmap`` or ``RowBlocks``, in blocks of rows.

        Parameters
        ----------
        X : the table, or an iterator over blocks of its rows (see ``partial_fit``).
        y : ignored, unless ``semi_supervised``: then the label of each row, of any type; None, NaN or -1 if unknown.
        sample_weight : a number of rows for each row: a row of weight 3 counts as three equal rows, and one of weight 0
            does not count, but is labelled as by ``predict``. Weights that are not whole are rounded so that every
            running sum is correct to within 0.5.
        must_link : pairs (i, j) of rows, numbered from 0, that must be in the same cluster.
        cannot_link : pairs of rows that must be in different clusters.
        like : an earlier model of such a table. Clusters keep its numbers as far as they have rows in common with its
            clusters, those that it predicts; others get further numbers. ``matching_`` says how well they match.
        error : standard error of each entry, of the shape of X, or one for each column; infinite: the entry is missing.
        lower, upper : bounds of entries that are missing in X, of its shape, or one for each column, for all of its
            missing entries; NaN or infinite: there is none. A value below a limit of detection has this as `upper`.
            Those of a Dask table are Dask tables with the same blocks, or numbers for each column.
        """
        self._check_parameters()
        half = {"error": error, "lower": lower, "upper": upper}
        kind = "a stream of blocks" if isinstance(X, Iterator) else "a Dask table" if is_dask(X) else None
        if kind and (self.semi_supervised or any(x is not None for x in (sample_weight, must_link, cannot_link, like))):
            what = "sample_weight, known labels, must_link, cannot_link or like"
            raise InputError(f"{kind} takes no {what}: fit a table in memory")
        if isinstance(X, Iterator):
            if any(each is not None for each in half.values()):
                raise InputError("a stream takes no error, lower or upper: give those of each block to partial_fit")
            return self._fit_stream(X)
        if is_dask(X):
            table: Table = read_dask(self, X, half)
            return self._keep(table, cluster(table, **self._settings()))
        # to the paper's algorithm entries that are known in part are missing
        heeded = half if isinstance(like, FusionClustering) else {}
        before = None if like is None else labels_before(like, X, **heeded)
        counts = as_counts(sample_weight, X)
        table = self._read(X, None if self.semi_supervised else y, reset=True, counts=counts, **half)
        if self.semi_supervised and y is None:
            raise InputError("semi_supervised=True needs y, the label of each row, -1 where it is unknown")
        known = y if self.semi_supervised else None
        hints = read_hints(table.shape[0], must_link, cannot_link, known, self.n_clusters)
        self._keep(table, cluster(table, hints=hints, counts=counts, **self._settings()))
        if before is not None:
            self._result, self.matching_ = matched(self._found, *before)
        return self

    def _settings(self) -> dict[str, Any]:
        """Parameters of the fit, for a table that was read; NumPy's small integers overflow."""
        encoder, counts = self.encoder_, (self.n_clusters, self.min_cluster_size)
        pairs = [] if encoder is None else zip(encoder.levels, encoder.ordered, strict=True)
        n_clusters, min_cluster_size = (None if count is None else int(count) for count in counts)
        return {
            "levels": tuple(LevelBlock(start, stop, ordered) for (start, stop), ordered in pairs),
            "n_clusters": n_clusters,
            "min_cluster_size": min_cluster_size,
            "weights": self._weights,
            "outliers": bool(self.outliers),
            "seed": self._seed(),
            "verbose": self.verbose,
        }

    @property
    def _names(self) -> Sequence[str]:
        """The names of the columns, x0, x1, ... if they have none."""
        return list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))

    @property
    def _weights(self) -> Real | None:
        return read_weights(self.feature_weights, self._names, self.encoder_)

    def _keep(self, table: Table, result: ClusteringResult | None) -> Self:
        """Store the result of a fit in place of an earlier one."""
        for name in ("_stream", "_others", "stability_", "matching_", "cluster_names_"):
            self.__dict__.pop(name, None)
        self.observations_, self._result = table, result
        return self

    def fit_predict(self, X: Any, y: Any = None, **known: Any) -> Any:
        """Cluster the rows of X and return ``labels_``; y and what else is `known` are those of ``fit``."""
        return self.fit(X, y, **known).labels_

    # Learning from a stream

    def partial_fit(self, X: Any, y: Any = None, *, error: Any = None, lower: Any = None, upper: Any = None) -> Self:
        """Learn from a further block of rows.

        A uniform sample of 20,000 rows is kept of all blocks so far, the same in blocks of any size. The clusters are
        fitted to it when a result is next asked for: ``labels_``, ``probabilities_`` and ``confidence_`` are those of
        the last block, and ``predict`` labels any other rows. A block after ``fit`` adds to the table of the fit. A
        ``DataWarning`` names columns whose mean in a block is more than five standard deviations from that before.

        The levels of a category are those of the first block. Give a ``FrameEncoder`` of a table with all levels as
        `categorical_features` if others may come.

        Parameters
        ----------
        X : the rows, in any form that ``fit`` takes.
        y : ignored.
        error, lower, upper : of the entries of these rows, as in ``fit``.
        """
        self._check_parameters()
        if self.semi_supervised:
            raise InputError("partial_fit does not work with semi_supervised: fit to all rows")
        sample = self._so_far()
        table = self._read(X, reset=sample is None, min_rows=1, error=error, lower=lower, upper=upper)
        warn_of_blanks(table, columns=False, fate=fate_of_blanks(self.outliers))
        if sample is not None:
            warn_of_drift(sample.rows, table, self.encoder_)
        sample = with_rows(sample, table, self._seed())
        self._keep(table, None)
        self._stream = sample
        return self

    def _fit_stream(self, blocks: Iterator[Any]) -> Self:
        """Fit to blocks of rows that come once."""
        for name in ("_result", "_stream"):
            self.__dict__.pop(name, None)
        for block in blocks:
            self.partial_fit(block)
        if "_stream" not in vars(self):
            raise InputError("the stream has no blocks of rows")
        self._settle()
        return self

    def _so_far(self) -> RowSample | None:
        """The sample of the rows so far: of earlier blocks, or of the table of ``fit``; None if there are none."""
        held = vars(self)
        result: ClusteringResult | None = held.get("_result")
        if "_stream" in held or result is None:
            return held.get("_stream")
        table = self.observations_
        if result.counts is not None or isinstance(table, DaskTable) or getattr(table, "source", table) is None:
            raise InputError(
                "partial_fit cannot go on from a fit with sample_weight, or to a table that the model does not hold: "
                "start with partial_fit, or fit to all rows again"
            )
        return with_rows(None, table, self._seed())

    def _settle(self) -> None:
        """Compute the clusters, if blocks of rows have come since they were, and label the last block."""
        held = vars(self)
        if "_stream" in held and held["_result"] is None:
            block: Table = self.observations_
            found = cluster(replace(self._stream.rows, feature_names=block.feature_names), **self._settings())
            self._result = found.of(counting(block, self._weights))

    # Results of the fit

    def __dir__(self) -> list[str]:
        # scikit-learn evaluates what is listed here when it shows a model: not what would be computed for it.
        result: ClusteringResult | None = vars(self).get("_result")
        names = {name for name, kind in vars(type(self)).items() if isinstance(kind, property)}
        slow = names if result is None else {"fused_"} | ({"probabilities_"} if result.posterior is None else set())
        return [name for name in object.__dir__(self) if name not in slow]

    @property
    def _found(self) -> ClusteringResult:
        """The result; computed now, if blocks of rows have come since it was."""
        check_is_fitted(self)
        self._settle()
        assert self._result is not None
        return self._result

    def _of_rows(self, what: str) -> Any:
        """What the result says of each row of the fit; of a Dask table lazily."""
        result, table = self._found, self.observations_
        if not isinstance(table, DaskTable):
            return result.posterior if what == "probabilities" else getattr(result, what)
        if table.source is None:
            raise AttributeError(f"a saved or copied model has no {what}_ of its Dask table: use predict(X)")
        return self._lazy(what, table.source)

    def _lazy(self, what: str, source: Any) -> Any:
        return lazy_rows(what, source, self._found.labeller, self.cluster_centers_.real.dtype)

    @property
    def labels_(self) -> Any:
        """Cluster of each row."""
        return self._of_rows("labels")

    @property
    def confidence_(self) -> Any:
        """Confidence in the label of each row."""
        return self._of_rows("confidence")

    @property
    def probabilities_(self) -> Any:
        """Probability of each cluster for each row, N x K."""
        shares = self._of_rows("probabilities")
        if shares is None:  # they were too many to be computed unasked
            shares = self._found.probabilities(counting(self.observations_, self._weights))
            self._result = replace(self._found, posterior=shares)
        return shares

    @property
    def fused_(self) -> npt.NDArray[Any]:
        """Centre of each row, N x P."""
        result = self._found
        if isinstance(self.observations_, DaskTable):
            raise AttributeError(
                "fused_ has the size of the table and is not computed for Dask: use cluster_centers_ and labels_"
            )
        return result.fused(counting(self.observations_, self._weights))

    @property
    def n_clusters_(self) -> int:
        """Number of clusters."""
        return self._found.n_clusters

    @property
    def cluster_centers_(self) -> Values:
        """Centres of the clusters, K x P."""
        return self._found.choice.centers.astype(self.observations_.dtype)

    @property
    def path_(self) -> Choice:
        """The candidates along the tree, with their criterion."""
        return self._found.choice

    @property
    def limits_(self) -> tuple[str, ...]:
        """What may have been missed, and why, and which clusters have no gap between them."""
        if isinstance(self.observations_, DaskTable) or "_stream" in vars(self):
            return self.path_.limits
        from fusewise.views import gap_sentences  # on first use, because views are slow to import

        return (*gap_sentences(self), *self.path_.limits)

    @property
    def rank_(self) -> int:
        """Dimension of the subspace."""
        return int(self.path_.subspace.rank)

    @property
    def noise_(self) -> float:
        """Standard deviation of the noise about the subspace."""
        return float(np.sqrt(self.path_.subspace.noise))

    @property
    def converged_(self) -> bool:
        """Whether all candidates were compared."""
        return not self.path_.interrupted

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    # Further rows

    def _new_rows(self, X: Any, y: Any = None, **half: Any) -> Table:
        """Read rows for the fitted model, with the errors and bounds of their entries."""
        check_is_fitted(self)
        table: Table = counting(self._read(X, y, reset=False, **half), self._weights)
        if isinstance(table, Entries):
            features = None if self.encoder_ is None else self.encoder_.features
            refuse_inexact(table, self._found.choice.two_valued, features)
        return table

    def _of_new(self, what: str, X: Any, error: Any, lower: Any, upper: Any) -> Any:
        """What the result says of the rows of X, see ``Labeller.of_rows``."""
        half = {"error": error, "lower": lower, "upper": upper}
        if is_dask(X):
            return self._lazy(what, counting(source_of(self, X, half), self._weights))
        table = self._new_rows(X, **half)
        if what == "labels":
            warn_of_blanks(table, columns=False, fate=fate_of_blanks(self.outliers))
        return self._found.labeller.of_rows(what, table)

    def predict(self, X: Any, error: Any = None, lower: Any = None, upper: Any = None) -> Any:
        """Predict the cluster of each row of X; -1 for outliers and for rows with nothing observed.

        The `error`, `lower` and `upper` of entries are as in ``fit``, here and in the following methods. Of a Dask
        table their results are lazy, with the same chunks (or divisions and index).
        """
        return self._of_new("labels", X, error, lower, upper)

    def predict_proba(self, X: Any, error: Any = None, lower: Any = None, upper: Any = None) -> Any:
        """Probability of each cluster for each row, N x K (see ``predict``); its share if nothing is observed."""
        return self._of_new("probabilities", X, error, lower, upper)

    def predict_confidence(self, X: Any, error: Any = None, lower: Any = None, upper: Any = None) -> Any:
        """Confidence in the label that ``predict`` gives to each row of X, as ``confidence_`` for those of the fit."""
        return self._of_new("confidence", X, error, lower, upper)

    def transform(self, X: Any, error: Any = None, lower: Any = None, upper: Any = None) -> Any:
        """d_ik = sqrt(2 (L_i - l_ik)), the distance of each row i of X from each cluster k, N x K.

        l_ik is the log-density of the observed entries of row i in cluster k, with the cluster's share, and L_i is the
        most that the row would have at a centre, whichever is the likeliest. Units cancel in the difference. The
        nearest cluster is the one that ``predict`` gives to a row that is no outlier, and exp(-d_ik² / 2), divided by
        its sum over k, is ``predict_proba``. In a cluster of normal shape d is the Mahalanobis distance, plus what
        a smaller share and a wider spread than the other clusters' add. A row with nothing observed has NaN.
        """
        return self._of_new("distances", X, error, lower, upper)

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        error: Any = None,
        lower: Any = None,
        upper: Any = None,
    ) -> float:
        """sum_i w_i log p(x_i) / sum_i w_i m_i: the log-likelihood of the rows of X for each observed entry.

        m_i is the number of observed entries of row i, w_i its `sample_weight` (1 by default), and p the density of the
        clusters together, with every column in standard deviations of the fit: units do not matter, and larger is
        better. With ``feature_weights`` entries count so often, and a column's unit is its standard deviation over the
        root of its weight. y is ignored, and `error`, `lower` and `upper` are as in ``fit``: an entry between bounds
        counts as observed, with the probability of its interval.
        """
        table = self._new_rows(X, None if self.semi_supervised else y, error=error, lower=lower, upper=upper)
        seen = table.row_counts > 0
        weights = np.broadcast_to(1.0 if sample_weight is None else np.asarray(sample_weight, float), seen.shape)
        gained: Real = self.path_.classifier.log_likelihood(table)
        entries: Any = table.row_counts
        often = np.ones(table.shape[1]) if self._weights is None else self._weights
        if self.encoder_ is not None or self._weights is not None:
            for start, stop in () if self.encoder_ is None else self.encoder_.levels:
                often[start + 1 : stop] = 0  # a category is one entry, however many features its levels are
            entries = table.dense().known @ often
        return float(weights[seen] @ gained[seen] / (weights[seen] @ entries[seen]))

    def explain(
        self,
        X: Any = None,
        *,
        rows: Sequence[int] | None = None,
        error: Any = None,
        lower: Any = None,
        upper: Any = None,
    ) -> list[Explanation]:
        """Say why rows are in their clusters: what each observed entry adds against the runner-up.

        Parameters
        ----------
        X : the rows, in any form that ``predict`` takes; None takes those of the fit. Each costs some hundred
            predictions.
        rows : numbers of the rows of X to explain, from 0; None explains all.
        error, lower, upper : as in ``fit``.

        Returns
        -------
        list of Explanation
            One for each row, printed in words: ``cluster``, ``runner_up``, their ``log_odds`` in nats, and for each of
            the ``columns`` with an entry its ``nats``. With ``by_size`` these add up to the log-odds, which are
            ``log(p / q)`` of the two probabilities of ``predict_proba``. ``to_frame`` for pandas.
        """
        check_is_fitted(self)
        table = self._fitted_table() if X is None else self._new_rows(X, error=error, lower=lower, upper=upper)
        index = getattr(X, "index", None)
        where = np.arange(table.shape[0]) if rows is None else np.asarray(rows)
        if len(where) and not 0 <= where.min() <= where.max() < table.shape[0]:
            raise InputError(f"rows must be numbers from 0 to {table.shape[0] - 1}, got {rows}")
        named = where.tolist() if index is None else [index[i] for i in where]
        return explanations(self._found, table.take(where), self.encoder_, self._names, named)

    def compare(self, frame: Any, *, level: float = 0.95) -> ClusterComparison:
        """Compare the clusters in columns that were not used, such as outcomes, corrected for uncertain membership.

        Parameters
        ----------
        frame : further columns of the rows of the fit, in the same order: a frame, an array or one column.
        level : confidence level of the intervals.

        Returns
        -------
        ClusterComparison
            ``means`` and shares with ``low`` and ``high``, ``uncorrected`` ones, and ``tests`` for no difference.
            Printed in words; ``to_frame`` for pandas. Outliers are left out.
        """
        check_is_fitted(self)
        if "_stream" in vars(self) or isinstance(self.observations_, DaskTable):
            raise InputError("compare needs a model that was fitted to a table in memory")
        used = tuple(getattr(self, "feature_names_in_", ()))
        return compare(self.labels_, self.probabilities_, self._found.counts, frame, used, level)

    # How sure the result is

    def stability(self, n_draws: int = 20, *, X: Any = None, n_jobs: int | None = None) -> Stability:
        """Fit the model again to half of the rows, `n_draws` times, and compare the clusters.

        Which entries are missing is partly chance, too: in each draw as many are hidden as are missing already, but at
        most a tenth of those observed.

        The mean over the draws of ``max_B |A ∩ B| / |A ∪ B|`` is the stability of a cluster A, where B are clusters of
        the new fit and A is reduced to its rows (Hennig, 2007; R's ``fpc::clusterboot``); the guide, "How sure", has
        the details. Parameters are those of the model. The result is kept as ``stability_``, which the report shows and
        ``save`` stores. Ctrl-C returns the result of the draws that are done.

        Parameters
        ----------
        n_draws : number of draws. With 20, a share in ``rows`` has steps of about a tenth.
        X : the table that the model was fitted to. It is needed only if the model does not hold it: after loading
            a model of a table that is read from disk.
        n_jobs : number of threads; None or -1 for as many as there are cores.

        Returns
        -------
        Stability
            ``clusters`` and ``rows``, the stability of each cluster and row; ``confidence``, the probability of each
            row's own cluster, averaged over the draws; ``n_clusters``, how often each number of clusters was found.
        """
        check_is_fitted(self)
        table = self._fitted_table(X)
        seed = int(check_random_state(0 if self.random_state is None else self.random_state).randint(2**31))
        how = self._settings() | {"seed": seed}
        self.stability_ = stability_of(self._found, table, n_draws, n_jobs, **how)
        return self.stability_

    def alternatives(self, *, X: Any = None) -> Alternatives:
        """Other numbers of clusters that explain the table nearly as well, the best first.

        The difference of a number's criterion from that of the result has a standard error (Vuong, 1989). Numbers that
        fall short by no more than two are returned, with the clusters they would have given.

        Parameters
        ----------
        X : the table that the model was fitted to, if the model does not hold it (as in ``stability``).

        Returns
        -------
        list of Alternative
            Each with ``n_clusters``, ``gain`` (in nats, negative if it falls short), ``error``, ``per_row``, ``sizes``
            and ``labels``. ``to_frame()`` of the list has AIC, BIC, ICL and entropy of all numbers that were compared.
        """
        check_is_fitted(self)
        if X is not None or "_others" not in vars(self):
            told = self.n_clusters is not None
            self._others = tuple(alternatives_of(self._found, self._fitted_table(X), told=told))
        return Alternatives(self._others, self.path_, partial(self._fitted_table, X))

    def _fitted_table(self, X: Any = None) -> Table:
        """The table that the model was fitted to."""
        if "_stream" in vars(self):
            raise InputError("the model has learnt from blocks of rows, of which it holds only a sample: fit a table")
        held = self.observations_
        table: Table = counting(held if X is None else self._read(X, reset=False), self._weights)
        if table.shape[0] != held.shape[0]:
            here, rows = counted(table.shape[0], "row"), counted(held.shape[0], "row")
            raise InputError(f"X has {here}, but the model was fitted to {rows}: pass that table")
        return table
