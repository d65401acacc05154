"""The estimator ``FusionImputer``."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fusewise.automatic import Choice, Smooth
from fusewise.estimators.base import FusionEstimator
from fusewise.estimators.clustering import FusionClustering
from fusewise.estimators.filling import Filler, fill_block
from fusewise.estimators.fitted import COMMON
from fusewise.kernels import Mask, Real
from fusewise.observations import Entries, RepeatedRows, ValueRanges, as_counts, as_entries, is_dask
from fusewise.saving.registry import saveable
from fusewise.support.errors import InputError
from fusewise.support.records import Array, Maybe, Record, Rule, Word

#: Fraction of the observed entries held out to estimate the imputation error.
HELD_OUT = 0.1
#: The spread of so many draws is compared with held-out entries, in rows with about so many entries in all. Draws are
#: made narrower on the whole by at most this factor; the ratio of a column to the whole is shrunk by so many entries.
DRAWS_COMPARED, ENTRIES_COMPARED, NARROWEST, SHRUNK_BY = 20, 200_000, 0.8, 20.0


@saveable
class FusionImputer(OneToOneFeatureMixin, TransformerMixin, FusionEstimator):  # type: ignore[misc]
    """Fill in the missing values of a table, and estimate the error.

    Two methods are compared on a held-out tenth of the observed entries, and the more accurate one is used:
    **clusters**, the expected value given the observed entries of the row (the conditional means of the clusters,
    weighted by the probability that the row belongs to each); and **subspace**, a low-rank model with uncertain
    loadings, which is better if the table is nearly empty or the rows do not form clusters. With the plain algorithm,
    "clusters" uses the entry of the cluster's centre. A table that is not held in memory (``SparseEntries``,
    ``StreamedEntries``) is filled from the clusters, in blocks of rows.

    Filled values are values that a column can have: within the range that was observed, and on its grid if the observed
    values lie on one (0/1, whole numbers, steps such as 0.5); a category gets one of its levels.

    Parameters
    ----------
    penalty, fidelity, lam, init, rank, n_neighbors, n_clusters, min_cluster_size : as in ``FusionClustering``, which is
        fitted twice: once with the held-out entries hidden.
    max_iter, tol, device, random_state, verbose, categorical_features, semi_supervised, summary_size : as in
        ``FusionClustering``. A frame with categories is filled from the clusters.

    Attributes
    ----------
    clustering_ : the fitted ``FusionClustering``.
    held_out_error_ : root-mean-square error on the held-out entries, in standard deviations of the columns, for each
        method and for "means", the column means. Empty if too few entries can be held out, or if the table is not
        held in memory.
    fill_ : the method used, "clusters" or "subspace".
    draw_scale_ : for each column, the factor by which the model's deviations are multiplied in ``sample``, so that they
        are as large as the errors on the held-out entries.
    ranges_ : smallest and largest observed value of each column, and the step of its grid (0: none), in ``low``,
        ``high`` and ``step``.
    n_iter_ : number of iterations of the clustering.

    Examples
    --------
    >>> import numpy as np
    >>> from fusewise import FusionImputer
    >>> from fusewise.datasets import hide_entries, make_clusters
    >>> truth, _, _ = make_clusters(3, 30, 10, noise=0.1, random_state=0)
    >>> X = hide_entries(truth, 0.3, random_state=0)
    >>> error = FusionImputer().fit_transform(X) - truth
    >>> bool(np.sqrt(np.mean(error[np.isnan(X)] ** 2)) < 0.15)
    True
    """

    _rules: ClassVar = COMMON | {
        "clustering_": Record(FusionClustering, P="P"),
        "smooth_": Maybe(Record(Smooth, P="P")),
        "fill_": Word("clusters", "subspace"),
        "held_out_error_": Rule(),
        "draw_scale_": Maybe(Array("P", low=0)),
        "ranges_": Maybe(Record(ValueRanges)),
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of X and choose the more accurate method. y is ignored, unless ``semi_supervised``.

        A `sample_weight` is a number of rows, as in ``FusionClustering.fit``.
        """
        self._check_parameters()
        if is_dask(X):
            return self._fit_dask(X, sample_weight)
        counts = as_counts(sample_weight, X)
        read = self._read(X, y, reset=True, counts=counts)
        table = read if counts is None else RepeatedRows(read, counts)
        numeric = self._encoder is None and isinstance(read, Entries)
        labels = np.repeat(np.asarray(y), counts) if self.semi_supervised and counts is not None else y
        held_out = self._held_out(table.dense(), labels) if numeric else None
        self.held_out_error_: dict[str, float] = {} if held_out is None else held_out[0]
        self.draw_scale_: Real = np.ones(table.shape[1]) if held_out is None else held_out[1]
        self.fill_ = _closer(self.held_out_error_)
        self.clustering_ = self._clustering().fit(X, y, sample_weight=counts)
        self.smooth_ = Smooth.of(table.dense()) if self.fill_ == "subspace" else None
        self.ranges_ = ValueRanges.of(table).without_grid(*(() if self._encoder is None else self._encoder.levels))
        self.n_iter_ = self.clustering_.n_iter_
        return self

    def transform(self, X: Any) -> Any:
        """Return X with its missing values filled in; a row with nothing observed gets the mean.

        A pandas or polars frame is returned as a frame with the same dtypes, anything else as an array; of a Dask table
        the result is lazy.
        """
        if is_dask(X):
            return self._fill_dask(X)
        return self._filler.filled(X, self.completed_features(X))

    def completed_features(self, X: Any) -> npt.NDArray[Any]:
        """The numbers with which ``transform`` fills X: its features, as ``encoder_`` names them, without gaps."""
        check_is_fitted(self)
        entries = self._read(X, None, reset=False).dense()
        whole = _by_clusters(self.clustering_, entries) if self.smooth_ is None else self.smooth_.completed(entries)
        return self._filler.matrix(entries, whole)

    def sample(self, X: Any, n_draws: int = 20, random_state: int | np.random.RandomState | None = None) -> list[Any]:
        """Draw completed tables from the distribution of the missing values given the observed ones.

        For multiple imputation: analyse each table, then pool the results. Each row gets a cluster, drawn with its
        probabilities, and values drawn given the cluster and the observed entries of the row.

        Parameters
        ----------
        X : the table, or new rows.
        n_draws : number of tables.
        random_state : seed; None draws different tables each time.

        Returns
        -------
        list of tables like those of ``transform``: arrays, or frames with the dtypes of X.
        """
        check_is_fitted(self)
        if n_draws != int(n_draws) or n_draws < 1:
            raise InputError(f"n_draws must be a positive whole number, got {n_draws!r}")
        entries = self._read(X, None, reset=False).dense()
        source = self.clustering_.path_ if self.smooth_ is None else self.smooth_
        if not isinstance(source, Choice | Smooth):
            raise InputError(
                "the plain algorithm has no distribution to draw from: leave lam, penalty, fidelity, init, "
                "rank and n_neighbors at their defaults"
            )
        random = check_random_state(random_state)
        scale: Real = getattr(self, "draw_scale_", np.ones(entries.shape[1]))
        tables = []
        for _ in range(n_draws):
            whole = source.drawn(entries, scale, int(random.randint(2**31)))
            tables.append(self._filler.filled(X, self._filler.matrix(entries, whole, drawn=True)))
        return tables

    @property
    def _filler(self) -> Filler:
        """What fills in the entries of rows; models saved by older versions have no ranges."""
        return Filler(self._encoder, vars(self).get("ranges_"))

    def _fit_dask(self, X: Any, sample_weight: Any) -> Self:
        """Fit to a table of Dask: it is filled from its clusters."""
        if sample_weight is not None:
            raise InputError("a Dask table takes no sample_weight: compute it first, if it fits in memory")
        clustering = self.clustering_ = self._clustering().fit(X)
        for name in ("n_features_in_", "feature_names_in_", "encoder_"):
            self.__dict__.pop(name, None)
            if name in vars(clustering):
                setattr(self, name, getattr(clustering, name))
        table = clustering.observations_
        self.held_out_error_, self.draw_scale_, self.fill_ = {}, np.ones(table.shape[1]), "clusters"
        self.smooth_ = None
        self.ranges_ = ValueRanges.of(table).without_grid(*(() if self._encoder is None else self._encoder.levels))
        self.n_iter_ = clustering.n_iter_
        return self

    def _fill_dask(self, X: Any) -> Any:
        """A lazy table with missing values filled in."""
        check_is_fitted(self)
        if self.smooth_ is not None or not isinstance(self.clustering_.path_, Choice):
            raise InputError("this model fills in tables in memory only: fit it to a Dask table, or transform blocks")
        source, given = self.clustering_._source(X), (self._filler, self.clustering_._placement)
        if source.is_frame:
            return source.rows(fill_block, *given, meta=source.header)
        kind = X.dtype if X.dtype.kind in "fc" else np.dtype(float)
        return source.rows(fill_block, *given, meta=np.empty((0, X.shape[1]), kind), width=X.shape[1])

    def _clustering(self) -> FusionClustering:
        return FusionClustering(**self.get_params(deep=False))

    def _held_out(self, entries: Entries, y: Any) -> tuple[dict[str, float], Real] | None:
        """Error of each imputation method on held-out entries, and by what draws of the better one are too narrow."""
        random = check_random_state(0 if self.random_state is None else self.random_state)
        # A separate random stream: the user may have hidden entries with the same seed.
        hidden = _hidden(entries, np.random.default_rng(random.randint(2**31)))
        if hidden is None:
            return None
        rest = Entries(np.where(hidden, 0, entries.values), entries.mask & ~hidden, entries.feature_names)
        table = np.where(rest.mask, rest.values, np.nan)
        deviations = np.sqrt(rest.column_variances)
        unit = np.broadcast_to(np.where(deviations > 0, deviations, 1), entries.shape)
        ranges = ValueRanges.of(rest)

        def error(whole: npt.NDArray[Any]) -> float:
            filled = ranges.confined(whole)
            return float(np.sqrt(np.mean(np.square(np.abs(filled - entries.values)[hidden] / unit[hidden]))))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit to the whole table repeats the warnings
            clustering = self._clustering().fit(table, y)
            smooth = Smooth.of(rest)
        found = {"clusters": _by_clusters(clustering, as_entries(table)), "subspace": smooth.completed(rest)}
        found["means"] = np.broadcast_to(rest.column_means, entries.shape)
        known = {way: error(whole) for way, whole in found.items()}
        errors = {way: value for way, value in known.items() if np.isfinite(value)}
        model = clustering.path_ if _closer(errors) == "clusters" else smooth
        if not isinstance(model, Choice | Smooth):
            return errors, np.ones(entries.shape[1])
        return errors, _scale(model, rest, entries, hidden)


def _closer(errors: dict[str, float]) -> str:
    """The method with the smaller error; the clusters, if nothing was held out."""
    return min(("clusters", "subspace"), key=lambda way: errors.get(way, np.inf))


def _scale(model: Choice | Smooth, rest: Entries, entries: Entries, hidden: Mask) -> Real:
    """By what the deviations of a model's draws must be multiplied in each column to match those of held-out entries.

    With z = |x - mean of m draws| / their standard deviation, which has a t distribution with m - 1 degrees of freedom:
    the 90% quantile of all z over that of t, times the mean z of the column over that of all.
    """
    p, m = entries.shape[1], DRAWS_COMPARED
    rows = np.flatnonzero(hidden.any(axis=1))
    rows = rows[:: 1 + len(rows) * p // ENTRIES_COMPARED]
    some, where = rest.take(rows), hidden[rows]
    draws = np.stack([model.drawn(some, np.ones(p), seed) for seed in range(m)])
    deviations = draws.std(axis=0, ddof=1) * np.sqrt(1 + 1 / m) + 1e-9 * np.sqrt(rest.column_variances)
    z = np.abs(entries.values[rows] - draws.mean(axis=0)) / np.where(deviations > 0, deviations, 1)
    wider = max(float(np.quantile(z[where], 0.9)) / stats.t.ppf(0.95, m - 1), NARROWEST)
    whole = float(z[where].mean()) or 1.0
    ratio = (np.where(where, z, 0).sum(axis=0) / whole + SHRUNK_BY) / (where.sum(axis=0) + SHRUNK_BY)
    return np.asarray(wider * ratio)


def _by_clusters(model: FusionClustering, entries: Entries) -> npt.NDArray[Any]:
    """Rows with the values expected from their clusters."""
    if isinstance(model.path_, Choice):
        return model.path_.completed(entries)
    means = np.append(model.cluster_centers_, model.fused_.mean(axis=0)[None], axis=0)
    return np.asarray(means[model._assigned(entries)])


def _hidden(entries: Entries, random: np.random.Generator) -> npt.NDArray[np.bool_] | None:
    """Entries to hold out, so that no row or column becomes empty; None if fewer than 20 can be."""
    spare = entries.mask & (entries.row_counts > 1)[:, None] & (entries.column_counts > 2)
    hidden = spare & (random.random(entries.shape) < HELD_OUT)
    hidden[(entries.mask & ~hidden).sum(axis=1) == 0] = False
    hidden[:, (entries.mask & ~hidden).sum(axis=0) < 2] = False
    return hidden if hidden.sum() >= 20 else None
