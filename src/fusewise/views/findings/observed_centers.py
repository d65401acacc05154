"""Means and medians of the observed values of each cluster, to be shown beside the model's centres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Labels, Real


@dataclass(frozen=True, eq=False)
class ObservedCenters:
    """What was observed in each cluster, K x P; NaN if nothing was.

    Attributes
    ----------
    means : mean of the observed values of each feature; for a level of a category its share.
    medians : median of the observed values.
    """

    means: npt.NDArray[np.float64]
    medians: npt.NDArray[np.float64]

    @classmethod
    def of(cls, values: Real, labels: Labels, n_clusters: int) -> ObservedCenters:
        """Of N x P values, NaN if missing, and the cluster of each row."""
        means, medians = np.full((2, n_clusters, values.shape[1]), np.nan)
        for k in range(n_clusters):
            ordered = np.sort(values[labels == k], axis=0)  # missing values come last
            counts = np.count_nonzero(~np.isnan(ordered), axis=0)
            seen = np.flatnonzero(counts)
            n = counts[seen]
            means[k, seen] = np.nansum(ordered[:, seen], axis=0) / n
            medians[k, seen] = (ordered[(n - 1) // 2, seen] + ordered[n // 2, seen]) / 2
        return cls(means, medians)
