"""``FusionImputer``: a table with its holes filled."""

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

#: Part of the observed entries that is hidden to measure the error of filling.
HELD_OUT = 0.1


@saveable
class FusionImputer(OneToOneFeatureMixin, TransformerMixin, FusionEstimator):  # type: ignore[misc]
    """Fills the holes of a table, and says how far off it is.

    Two ways to fill a hole are tried on a tenth of the observed entries, hidden for the purpose, and the one that comes
    closer is used: from the **clusters**, its expected value given the row's own entries (each cluster's guess, its
    centre moved along with what the row shows, weighed by the probability that the row belongs there); or from a
    **subspace** whose loadings are no surer than their columns allow, which is better where the table is nearly empty
    or the rows do not cluster. With the plain algorithm, clusters fill a hole by the entry of their centre. A table too
    large to be held whole (``SparseEntries``, ``StreamedEntries``) is filled from the clusters, some rows at a time.

    Parameters
    ----------
    penalty, fidelity, lam, init, rank, n_neighbors, n_clusters, min_cluster_size : as in ``FusionClustering``, which is
        fitted twice: once with the tenth hidden, once with all entries.
    max_iter, tol, device, random_state, verbose : as in ``FusionClustering``.

    Attributes
    ----------
    clustering_ : the fitted ``FusionClustering``.
    held_out_error_ : root-mean-square error of hidden entries, in standard deviations of their columns, for each way of
        filling and for "means", the column's mean. Empty where too few entries could be hidden to tell, or the table is
        not held whole.
    fill_ : the way that was taken, "clusters" or "subspace".
    n_iter_ : iterations of the clustering.

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
        """Cluster the rows of X, and find out which way of filling is best. y is ignored."""
        table = self._read(X, y, reset=True)
        self.held_out_error_ = self._held_out_errors(table) if isinstance(table, Entries) else {}
        ways = {way: self.held_out_error_.get(way, np.inf) for way in ("clusters", "subspace")}
        self.fill_ = min(ways, key=lambda way: ways[way])
        self.clustering_ = self._clustering().fit(X)
        self.smooth_ = Smooth.of(table.dense()) if self.fill_ == "subspace" else None
        self.n_iter_ = self.clustering_.n_iter_
        return self

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """X with its holes filled; a row with nothing observed gets the mean."""
        check_is_fitted(self)
        entries = self._read(X, None, reset=False).dense()
        whole = _by_clusters(self.clustering_, entries) if self.smooth_ is None else self.smooth_.completed(entries)
        return entries.fill(whole)

    def _clustering(self) -> FusionClustering:
        return FusionClustering(**self.get_params(deep=False))

    def _held_out_errors(self, entries: Entries) -> dict[str, float]:
        """Error of each way of filling on entries hidden from it."""
        random = check_random_state(0 if self.random_state is None else self.random_state)
        # A stream of its own: whoever hid the holes with the same seed drew from that seed's stream.
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
            warnings.simplefilter("ignore")  # what there is to say of the table is said when all of it is fitted
            by_clusters = _by_clusters(self._clustering().fit(table), as_entries(table))
            by_subspace = Smooth.of(rest).completed(rest)
        means = np.broadcast_to(rest.column_means, entries.shape)
        return {"clusters": error(by_clusters), "subspace": error(by_subspace), "means": error(means)}


def _by_clusters(model: FusionClustering, entries: Entries) -> npt.NDArray[Any]:
    """Rows as the clusters expect them."""
    if isinstance(model.path_, Choice):
        return model.path_.completed(entries, model.path_.classify(entries).posterior)
    means = np.append(model.cluster_centers_, model.fused_.mean(axis=0)[None], axis=0)
    return np.asarray(means[model.predict(np.where(entries.mask, entries.values, np.nan))])


def _hidden(entries: Entries, random: np.random.Generator) -> npt.NDArray[np.bool_] | None:
    """Which entries to hide, leaving every row and column another one; None where fewer than twenty can be."""
    spare = entries.mask & (entries.row_counts > 1)[:, None] & (entries.column_counts > 2)
    hidden = spare & (random.random(entries.shape) < HELD_OUT)
    hidden[(entries.mask & ~hidden).sum(axis=1) == 0] = False
    hidden[:, (entries.mask & ~hidden).sum(axis=0) < 2] = False
    return hidden if hidden.sum() >= 20 else None
