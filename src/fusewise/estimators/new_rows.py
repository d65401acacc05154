"""Results for rows that were not in the fit: their clusters, probabilities, distances and score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fusewise.automatic import NO_HINTS, Choice, Hints
from fusewise.estimators.placement import Placement, squared_distances
from fusewise.kernels import Index, Real, Values
from fusewise.observations import Table, is_dask, warn_of_blanks

if TYPE_CHECKING:
    from fusewise.estimators.base import FusionEstimator as Estimator
else:
    Estimator = object


class NewRowsMixin(Estimator):
    """The methods of ``FusionClustering`` that take rows after the fit."""

    if TYPE_CHECKING:
        n_clusters_: int
        cluster_centers_: Values
        path_: Any

        @property
        def _placement(self) -> Placement: ...

        def _probabilities(self, table: Table, hints: Hints = NO_HINTS) -> Real: ...

        def _lazily(self, what: str, source: Any) -> Any: ...

        def _source(self, X: Any) -> Any: ...

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
            found = self.path_.classify(table, posterior=False)
            return place.labels(found, table.row_counts > 0)
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

    def predict_confidence(self, X: Any) -> Any:
        """Confidence in the label that ``predict`` gives to each row of X, as ``confidence_`` for those of the fit."""
        if is_dask(X):
            return self._lazily("confidence", self._source(X))
        check_is_fitted(self)
        table = self._read(X, None, reset=False)
        if not isinstance(self.path_, Choice):
            raise AttributeError("the plain algorithm has no probabilities: use the default, or predict")
        found = self.path_.classify(table, posterior=False)
        return self._placement.confidence(found, table.row_counts > 0)

    def transform(self, X: Any) -> Any:
        """d_ik = sqrt(2 (L_i - l_ik)), the distance of each row i of X from each cluster k, N x K.

        l_ik is the log-density of the observed entries of row i in cluster k, with the cluster's share, and L_i is the
        most that the row would have at a centre, whichever is the likeliest. Units cancel in the difference. The
        nearest cluster is the one that ``predict`` gives to a row that is no outlier, and exp(-d_ik² / 2), divided by
        its sum over k, is ``predict_proba``. In a cluster of normal shape d is the Mahalanobis distance, plus what
        a smaller share and a wider spread than the other clusters' add. A row with nothing observed has NaN.

        In the plain algorithm it is the Euclidean distance from the centre in the units of the table, scaled from the
        observed entries to all.
        """
        if is_dask(X):
            return self._lazily("distances", self._source(X))
        check_is_fitted(self)
        table = self._read(X, None, reset=False)
        if isinstance(self.path_, Choice):
            return self._placement.distances(table)
        return np.sqrt(self._squared_distances(table))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """sum_i w_i log p(x_i) / sum_i w_i m_i: the log-likelihood of the rows of X for each observed entry.

        m_i is the number of observed entries of row i, w_i its `sample_weight` (1 by default), and p the density of the
        clusters together, with every column in standard deviations of the fit: units do not matter, and larger is
        better. y is ignored.

        In the plain algorithm, which has no density, it is minus the mean squared distance of the observed entries from
        the nearest centre, in the units of the table.
        """
        check_is_fitted(self)
        table = self._read(X, y, reset=False)
        if not self.n_clusters_:
            return -np.inf
        seen = table.row_counts > 0
        weights = np.broadcast_to(1.0 if sample_weight is None else np.asarray(sample_weight, float), seen.shape)
        if isinstance(self.path_, Choice):
            gained = self.path_.classifier.log_likelihood(table)
            return float(weights[seen] @ gained[seen] / (weights[seen] @ self._entry_counts(table)[seen]))
        squares = self._squared_distances(table).min(axis=1) / table.shape[1]
        return -float(np.average(squares[seen], weights=(weights * table.row_counts)[seen]))

    def _entry_counts(self, table: Table) -> Index:
        """Observed entries of each row; a category is one, however many features its levels are."""
        if self._encoder is None:
            return table.row_counts
        first = np.ones(table.shape[1], bool)
        for start, stop in self._encoder.levels:
            first[start + 1 : stop] = False
        return np.asarray(table.dense().mask[:, first].sum(axis=1))

    def _squared_distances(self, table: Table) -> Real:
        """Squared distances to the cluster centres, N x K."""
        return squared_distances(table, self.cluster_centers_)
