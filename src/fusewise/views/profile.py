"""Profiles of the clusters by feature, and means and medians of what was observed in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import leaves_list, linkage

from fusewise.kernels.types import Index, Labels, Real

if TYPE_CHECKING:
    from fusewise.views.findings import Findings


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


#: Maximum number of features in a heat map.
MOST_FEATURES = 60


@dataclass(frozen=True, eq=False)
class Profile:
    """Centres in standard deviations from the mean of each feature, and the importance of its column.

    Attributes
    ----------
    deviations : K x P, (centre - mean) / standard deviation; NaN if the feature was not observed in the cluster.
    telling : P, importance of the column of each feature, eta² or Cramér's V² (0: it says nothing, 1: everything).
    shown : indices of the features to draw: those of the most important columns, similar ones side by side.
    """

    deviations: Real
    telling: Real
    shown: Index


def profile_of(found: Findings, most: int = MOST_FEATURES) -> Profile:
    """Compute the profiles of the clusters."""
    values, labels, k = found.values, found.labels, found.n_clusters
    seen = ~np.isnan(values)
    filled = np.where(seen, values, 0.0)
    middle = filled.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    away = np.where(seen, values - middle, 0.0)
    spread = np.sqrt(np.square(away).sum(axis=0) / np.maximum(seen.sum(axis=0), 1))
    member = labels == np.arange(k)[:, None]
    counts = member.astype(float) @ seen
    deviations = np.where(counts > 0, (found.centers - middle) / np.where(spread > 0, spread, 1.0), np.nan)
    telling = np.zeros(values.shape[1])
    for about in found.contrasts.columns:
        telling[slice(*found.columns[about.position].features)] = about.importance
    kept = np.sort(np.argsort(-telling, kind="stable")[:most])
    return Profile(deviations, telling, kept[_side_by_side(deviations[:, kept])])


def _side_by_side(deviations: Real) -> Index:
    """An order of the columns in which similar ones are adjacent."""
    if deviations.shape[1] < 3 or not len(deviations):
        return np.arange(deviations.shape[1])
    columns = np.nan_to_num(deviations).T
    return leaves_list(linkage(columns, "average", optimal_ordering=True)).astype(np.intp)
