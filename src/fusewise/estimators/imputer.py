"""The estimator ``FusionImputer``."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fusewise.automatic import Choice, Smooth
from fusewise.estimators.base import FusionEstimator
from fusewise.estimators.clustering import FusionClustering
from fusewise.observations import Entries, as_entries
from fusewise.saving.registry import saveable

#: Fraction of the observed entries held out to estimate the imputation error.
HELD_OUT = 0.1


@saveable
class FusionImputer(OneToOneFeatureMixin, TransformerMixin, FusionEstimator):  # type: ignore[misc]
    """Fill in the missing values of a table, and estimate the error.

    Two methods are compared on a held-out tenth of the observed entries, and the more accurate one is used:
    **clusters**, the expected value given the observed entries of the row (the conditional means of the clusters,
    weighted by the probability that the row belongs to each); and **subspace**, a low-rank model with uncertain
    loadings, which is better if the table is nearly empty or the rows do not form clusters. With the plain algorithm,
    "clusters" uses the entry of the cluster's centre. A table that is not held in memory (``SparseEntries``,
    ``StreamedEntries``) is filled from the clusters, in blocks of rows.

    Parameters
    ----------
    penalty, fidelity, lam, init, rank, n_neighbors, n_clusters, min_cluster_size : as in ``FusionClustering``, which is
        fitted twice: once with the held-out entries hidden.
    max_iter, tol, device, random_state, verbose, categorical_features, semi_supervised : as in ``FusionClustering``. A
        frame with categories is filled from the clusters, and returned as a frame with the same dtypes.

    Attributes
    ----------
    clustering_ : the fitted ``FusionClustering``.
    held_out_error_ : root-mean-square error on the held-out entries, in standard deviations of the columns, for each
        method and for "means", the column means. Empty if too few entries can be held out, or if the table is not
        held in memory.
    fill_ : the method used, "clusters" or "subspace".
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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X and choose the more accurate method. y is ignored, unless ``semi_supervised``."""
        table = self._read(X, y, reset=True)
        numeric = self._encoder is None and isinstance(table, Entries)
        self.held_out_error_ = self._held_out_errors(table.dense(), y) if numeric else {}
        ways = {way: self.held_out_error_.get(way, np.inf) for way in ("clusters", "subspace")}
        self.fill_ = min(ways, key=lambda way: ways[way])
        self.clustering_ = self._clustering().fit(X, y)
        self.smooth_ = Smooth.of(table.dense()) if self.fill_ == "subspace" else None
        self.n_iter_ = self.clustering_.n_iter_
        return self

    def transform(self, X: Any) -> Any:
        """Return X with its missing values filled in; a row with nothing observed gets the mean."""
        check_is_fitted(self)
        entries = self._read(X, None, reset=False).dense()
        whole = _by_clusters(self.clustering_, entries) if self.smooth_ is None else self.smooth_.completed(entries)
        filled = entries.fill(whole)
        return filled if self._encoder is None else self._encoder.filled(X, filled)

    def _clustering(self) -> FusionClustering:
        return FusionClustering(**self.get_params(deep=False))

    def _held_out_errors(self, entries: Entries, y: Any) -> dict[str, float]:
        """Error of each imputation method on held-out entries."""
        random = check_random_state(0 if self.random_state is None else self.random_state)
        # A separate random stream: the user may have hidden entries with the same seed.
        hidden = _hidden(entries, np.random.default_rng(random.randint(2**31)))
        if hidden is None:
            return {}
        rest = Entries(np.where(hidden, 0, entries.values), entries.mask & ~hidden, entries.feature_names)
        table = np.where(rest.mask, rest.values, np.nan)
        deviations = np.sqrt(rest.column_variances)
        unit = np.broadcast_to(np.where(deviations > 0, deviations, 1), entries.shape)

        def error(filled: npt.NDArray[Any]) -> float:
            return float(np.sqrt(np.mean(np.square(np.abs(filled - entries.values)[hidden] / unit[hidden]))))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit to the whole table repeats the warnings
            by_clusters = _by_clusters(self._clustering().fit(table, y), as_entries(table))
            by_subspace = Smooth.of(rest).completed(rest)
        means = np.broadcast_to(rest.column_means, entries.shape)
        return {"clusters": error(by_clusters), "subspace": error(by_subspace), "means": error(means)}


def _by_clusters(model: FusionClustering, entries: Entries) -> npt.NDArray[Any]:
    """Rows with the values expected from their clusters."""
    if isinstance(model.path_, Choice):
        return model.path_.completed(entries, model.path_.classify(entries).posterior)
    means = np.append(model.cluster_centers_, model.fused_.mean(axis=0)[None], axis=0)
    return np.asarray(means[model.predict(np.where(entries.mask, entries.values, np.nan))])


def _hidden(entries: Entries, random: np.random.Generator) -> npt.NDArray[np.bool_] | None:
    """Entries to hold out, so that no row or column becomes empty; None if fewer than 20 can be."""
    spare = entries.mask & (entries.row_counts > 1)[:, None] & (entries.column_counts > 2)
    hidden = spare & (random.random(entries.shape) < HELD_OUT)
    hidden[(entries.mask & ~hidden).sum(axis=1) == 0] = False
    hidden[:, (entries.mask & ~hidden).sum(axis=0) < 2] = False
    return hidden if hidden.sum() >= 20 else None
