"""``FusionImputer``: a table with its holes filled."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fusewise.estimators.base import FusionEstimator
from fusewise.estimators.clustering import FusionClustering
from fusewise.selection import Choice


class FusionImputer(OneToOneFeatureMixin, TransformerMixin, FusionEstimator):  # type: ignore[misc]
    """Fills the holes of a table from the fused clusters.

    By default a hole gets its expected value given the row's own entries: each cluster's guess (its centre, moved along
    with what the row shows), weighed by the probability that the row belongs there. With the plain algorithm it gets
    the entry of the centre of its cluster.

    Parameters
    ----------
    The same as ``FusionClustering``, which it runs.

    Attributes
    ----------
    clustering_ : the fitted ``FusionClustering``.
    n_iter_ : its iterations.

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
        """Cluster the rows of X. y is ignored."""
        self._read(X, y, reset=True)
        self.clustering_ = FusionClustering(**self.get_params(deep=False)).fit(X)
        self.n_iter_ = self.clustering_.n_iter_
        return self

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """X with its holes filled; a row with nothing observed gets the mean."""
        check_is_fitted(self)
        entries = self._read(X, None, reset=False)
        model = self.clustering_
        if isinstance(model.path_, Choice):
            choice = model.path_
            return entries.fill(choice.completed(entries, choice.classify(entries).posterior))
        means = np.append(model.cluster_centers_, model.fused_.mean(axis=0)[None], axis=0)
        return entries.fill(means[model.predict(X)])
