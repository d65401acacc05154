"""Profiles of the clusters: their centres by feature, and how well each feature separates them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from fusewise.kernels import Index, Real
from fusewise.views.findings.findings import Findings

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
