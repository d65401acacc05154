"""Profiles of the clusters: their centres by feature, and how well each feature separates them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import leaves_list, linkage

from fusewise.kernels.types import Index, Real
from fusewise.views.findings.findings import Findings

#: Maximum number of features in a heat map.
MOST_FEATURES = 60


@dataclass(frozen=True, eq=False)
class Profile:
    """Centres in standard deviations from the mean of each column, and eta² of each feature.

    Attributes
    ----------
    deviations : K x P, (centre - mean) / standard deviation; NaN if the feature was not observed in the cluster.
    telling : P, fraction of a feature's variance that is between the clusters, eta² (0: none, 1: all of it).
    shown : indices of the features to draw: those with the largest eta², similar ones side by side.
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
    telling = _between(member[:, labels >= 0].astype(float), filled[labels >= 0], seen[labels >= 0])
    kept = np.sort(np.argsort(-telling, kind="stable")[:most])
    return Profile(deviations, telling, kept[_side_by_side(deviations[:, kept])])


def _between(member: Real, filled: Real, seen: npt.NDArray[np.bool_]) -> Real:
    """eta² = sum_k n_k (m_k - m)² / sum_i (x_i - m)², over the observed entries of each column."""
    counts = member @ seen
    total = np.maximum(counts.sum(axis=0), 1)
    middle = filled.sum(axis=0) / total
    around = np.where(seen, filled - middle, 0.0)
    means = (member @ around) / np.maximum(counts, 1)
    whole = np.square(around).sum(axis=0)
    return np.where(whole > 0, (counts * np.square(means)).sum(axis=0) / np.where(whole > 0, whole, 1.0), 0.0)


def _side_by_side(deviations: Real) -> Index:
    """An order of the columns in which similar ones are adjacent."""
    if deviations.shape[1] < 3 or not len(deviations):
        return np.arange(deviations.shape[1])
    columns = np.nan_to_num(deviations).T
    return leaves_list(linkage(columns, "average", optimal_ordering=True)).astype(np.intp)
