"""The estimator ``FusionImputer``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fusewise.automatic import Choice
from fusewise.estimators._base import COMMON, COUNT, FusionEstimator, in_plain_words
from fusewise.estimators._clustering import FusionClustering
from fusewise.estimators._inputs import source_of
from fusewise.estimators._result import Labeller
from fusewise.kernels import Mask, Real, Values
from fusewise.observations import (
    Block,
    BoundedEntries,
    Entries,
    RepeatedRows,
    Table,
    ValueRanges,
    is_dask,
)
from fusewise.saving import saveable
from fusewise.subspace import Smooth
from fusewise.support import Flag, InputError, Instance, Maybe, NumberArray, Rule, Word
from fusewise.tables import FrameEncoder, Reading, is_frame, reread

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
    loadings, which is better if the table is nearly empty or the rows do not form clusters. A table that is not held in
    memory (``SparseEntries``, ``StreamedEntries``), and a frame with categories, is filled from the clusters.

    Filled values are values that a column can have: within the range that was observed, and on its grid if the observed
    values lie on one (0/1, whole numbers, steps such as 0.5); a category gets one of its levels.

    Parameters
    ----------
    n_clusters, categorical_features, min_cluster_size, semi_supervised, device, random_state, verbose : as in
        ``FusionClustering``, which is fitted twice: once with the held-out entries hidden.

    Attributes
    ----------
    clustering_ : the fitted ``FusionClustering``.
    held_out_error_ : root-mean-square error on the held-out entries, in standard deviations of the columns, for each
        method and for "means", the column means. Empty if too few entries can be held out, or if the table is not
        held in memory, has categories, or has entries with errors or bounds.
    fill_ : the method used, "clusters" or "subspace".
    draw_scale_ : for each column, the factor by which the model's deviations are multiplied in ``sample``, so that they
        are as large as the errors on the held-out entries.
    ranges_ : smallest and largest observed value of each column, and the step of its grid (0: none), in ``low``,
        ``high`` and ``step``.
    n_features_in_, feature_names_in_, encoder_ : as in ``FusionClustering``.

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

    _takes_half_known = True
    _parameters: ClassVar = {"n_clusters": Maybe(COUNT), "min_cluster_size": Maybe(COUNT), "semi_supervised": Flag()}

    _rules: ClassVar = COMMON | {
        "clustering_": Instance(FusionClustering, P="P"),
        "smooth_": Maybe(Instance(Smooth, P="P")),
        "fill_": Word("clusters", "subspace"),
        "held_out_error_": Rule(),
        "draw_scale_": Maybe(NumberArray("P", low=0)),
        "ranges_": Instance(ValueRanges),
    }

    @in_plain_words
    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        categorical_features: Any = "from_dtype",
        min_cluster_size: int | None = None,
        semi_supervised: bool = False,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.categorical_features = categorical_features
        self.min_cluster_size = min_cluster_size
        self.semi_supervised = semi_supervised
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        error: Any = None,
        lower: Any = None,
        upper: Any = None,
    ) -> Self:
        """Cluster the rows of X and choose the more accurate method. y is ignored, unless ``semi_supervised``.

        A `sample_weight` is a number of rows, and `error`, `lower` and `upper` are what is known of entries, as in
        ``FusionClustering.fit``. A table with these is filled from the clusters.
        """
        self._check_parameters()
        given = {"sample_weight": sample_weight, "error": error, "lower": lower, "upper": upper}
        clustering = FusionClustering(**self.get_params(deep=False)).fit(X, y, **given)
        for name in ("n_features_in_", "feature_names_in_", "encoder_"):
            self.__dict__.pop(name, None)
            if name in vars(clustering):
                setattr(self, name, getattr(clustering, name))
        read, counts = clustering.observations_, clustering._found.counts
        table: Table = read if counts is None else RepeatedRows(read, counts)
        numeric = self.encoder_ is None and isinstance(read, Entries) and not read.inexact.any()
        labels = np.repeat(np.asarray(y), counts) if self.semi_supervised and counts is not None else y
        held_out = self._held_out(table.dense(), labels) if numeric else None
        self.clustering_ = clustering
        errors, scale = held_out or ({}, np.ones(table.shape[1]))
        self.held_out_error_, self.draw_scale_, self.fill_ = errors, scale, _closer(errors)
        self.smooth_ = Smooth.of(table.dense()) if self.fill_ == "subspace" else None
        self.ranges_ = ValueRanges.of(table).without_grid(*(() if self.encoder_ is None else self.encoder_.levels))
        return self

    def transform(self, X: Any, error: Any = None, lower: Any = None, upper: Any = None) -> Any:
        """Return X with its missing values filled in; a row with nothing observed gets the mean.

        The `error`, `lower` and `upper` of entries are as in ``fit``: a missing value with bounds is filled with what
        is expected between these. A pandas or polars frame is returned as a frame with the same dtypes, anything else
        as an array; of a Dask table the result is lazy.
        """
        half = {"error": error, "lower": lower, "upper": upper}
        if is_dask(X):
            return self._fill_dask(X, half)
        X = reread(self, X) if isinstance(X, Reading) else X
        return _in_container(X, self.encoder_, self.completed_features(X, **half))

    def completed_features(self, X: Any, **half: Any) -> npt.NDArray[Any]:
        """The numbers with which ``transform`` fills X: its features, as ``encoder_`` names them, without gaps.

        `half` are the error, lower and upper of half-known entries.
        """
        entries, model = self._seen_by_model(X, half)
        whole = model.completed(entries)
        return _filled(entries, whole, self.ranges_, self.ranges_.confined)

    def sample(
        self,
        X: Any,
        n_draws: int = 20,
        random_state: int | np.random.RandomState | None = None,
        error: Any = None,
        lower: Any = None,
        upper: Any = None,
    ) -> list[Any]:
        """Draw completed tables from the distribution of the missing values given the observed ones.

        For multiple imputation: analyse each table, then pool the results. Each row gets a cluster, drawn with its
        probabilities, and values drawn given the cluster and the observed entries of the row.

        Parameters
        ----------
        X : the table, or new rows.
        n_draws : number of tables.
        random_state : seed; None draws different tables each time.
        error, lower, upper : as in ``fit``; values with bounds are drawn between these, each by itself.

        Returns
        -------
        list of tables like those of ``transform``: arrays, or frames with the dtypes of X.
        """
        entries, model = self._seen_by_model(X, {"error": error, "lower": lower, "upper": upper})
        if n_draws != int(n_draws) or n_draws < 1:
            raise InputError(f"n_draws must be a positive whole number, got {n_draws!r}")
        random, tables = check_random_state(random_state), []
        for _ in range(n_draws):
            whole = model.drawn(entries, self.draw_scale_, int(random.randint(2**31)))
            tables.append(_in_container(X, self.encoder_, _filled(entries, whole, self.ranges_, self.ranges_.possible)))
        return tables

    def _seen_by_model(self, X: Any, half: dict[str, Any]) -> tuple[Entries, Choice | Smooth]:
        """The entries of a table, and the model that fills it in."""
        check_is_fitted(self)
        entries = self._read(X, None, reset=False, **half).dense()
        if self.smooth_ is None or entries.inexact.any():
            return entries, self.clustering_.path_
        return entries, self.smooth_

    def _fill_dask(self, X: Any, half: dict[str, Any]) -> Any:
        check_is_fitted(self)
        if self.smooth_ is not None:
            raise InputError("this model fills in tables in memory only: fit it to a Dask table, or transform blocks")
        source = source_of(self.clustering_, X, half)
        given = (self.encoder_, self.ranges_, self.clustering_._found.labeller)
        if source.is_frame:
            return source.rows(_fill_block, *given, meta=source.header)
        kind = X.dtype if X.dtype.kind in "fc" else np.dtype(float)
        return source.rows(_fill_block, *given, meta=np.empty((0, X.shape[1]), kind), width=X.shape[1])

    def _held_out(self, entries: Entries, y: Any) -> tuple[dict[str, float], Real] | None:
        """Error of each imputation method on held-out entries, and by what draws of the better one are too narrow."""
        random = check_random_state(0 if self.random_state is None else self.random_state)
        # A separate random stream: the user may have hidden entries with the same seed.
        hidden = _hidden(entries, np.random.default_rng(random.randint(2**31)))
        if hidden is None:
            return None
        rest = entries.only(~hidden)
        deviations = np.sqrt(rest.column_variances)
        unit = np.broadcast_to(np.where(deviations > 0, deviations, 1), entries.shape)
        ranges = ValueRanges.of(rest)

        def error(whole: npt.NDArray[Any]) -> float:
            filled = ranges.confined(whole)
            return float(np.sqrt(np.mean(np.square(np.abs(filled - entries.values)[hidden] / unit[hidden]))))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit to the whole table repeats the warnings
            clustering = FusionClustering(**self.get_params(deep=False)).fit(rest.fill(np.nan), y)
            smooth = Smooth.of(rest)
        found = {"clusters": clustering.path_.completed(rest), "subspace": smooth.completed(rest)}
        found["means"] = np.broadcast_to(rest.column_means, entries.shape)
        errors = {way: value for way, whole in found.items() if np.isfinite(value := error(whole))}
        model = clustering.path_ if _closer(errors) == "clusters" else smooth
        return errors, _scale(model, rest, entries, hidden)


def _closer(errors: dict[str, float]) -> str:
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


def _hidden(entries: Entries, random: np.random.Generator) -> npt.NDArray[np.bool_] | None:
    """Entries to hold out, so that no row or column becomes empty; None if fewer than 20 can be."""
    spare = entries.mask & (entries.row_counts > 1)[:, None] & (entries.column_counts > 2)
    hidden = spare & (random.random(entries.shape) < HELD_OUT)
    hidden[(entries.mask & ~hidden).sum(axis=1) == 0] = False
    hidden[:, (entries.mask & ~hidden).sum(axis=0) < 2] = False
    return hidden if hidden.sum() >= 20 else None


def _filled(
    entries: Entries, whole: Values, ranges: ValueRanges, possible: Callable[[Values], Values]
) -> npt.NDArray[Any]:
    """A table filled with possible values; those with bounds may be beyond what was observed."""
    values = possible(whole)
    if isinstance(entries, BoundedEntries):
        values = np.where(entries.bounded, entries.within(ranges.possible(whole)), values)
    return entries.fill(values)


def _in_container(X: Any, encoder: FrameEncoder | None, matrix: Values) -> Any:
    """A matrix of features without gaps in the container of X, whose observed entries stay as they are."""
    if encoder is None and (is_frame(X) or isinstance(X, Reading)):
        encoder = FrameEncoder.of(X, [])
    return matrix if encoder is None else encoder.filled(X, matrix)


def _fill_block(
    block: Block, number: int, encoder: FrameEncoder | None, ranges: ValueRanges, labeller: Labeller
) -> Any:
    rows = block.entries
    if not rows.shape[0]:
        return block.rows if is_frame(block.rows) else rows.values
    whole = labeller.of_rows("completed", rows)
    return _in_container(block.rows, encoder, _filled(rows, whole, ranges, ranges.confined))
