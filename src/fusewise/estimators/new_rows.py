"""Results for rows that were not in the fit: their clusters, probabilities, distances and score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fusewise.automatic import NO_HINTS, Choice, Hints
from fusewise.estimators.placement import Placement, squared_distances
from fusewise.kernels.types import Real, Values
from fusewise.observations import Table, warn_of_blanks
from fusewise.observations.dask_blocks import is_dask

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
