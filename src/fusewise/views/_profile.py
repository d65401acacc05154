"""Profiles of the clusters by feature, and means and medians of what was observed in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.stats import rankdata

from fusewise.kernels import Index, Labels, Real
from fusewise.views._columns import TableColumn
from fusewise.views._contrasts import LEAST_VALUES, enough

if TYPE_CHECKING:
    from fusewise.views._findings import Findings


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
MOST_FEATURES = 30
#: Of a category with many levels, so many are drawn.
MAIN_LEVELS = 5


@dataclass(frozen=True, eq=False)
class Profile:
    """Each cluster against the other rows by feature: the same effect sizes that the descriptions are made of.

    Attributes
    ----------
    shown : Q, indices of the features to draw: those of the most important columns, similar ones side by side.
    effects : K x Q, Cliff's delta: the probability that a row of the cluster has the larger value minus the
        probability that it has the smaller one; for a level of a category the difference in its share. NaN if the
        cluster or the other rows have too few observed values.
    telling : P, importance of the column of each feature, eta² or Cramér's V² (0: it says nothing, 1: everything).
    """

    shown: Index
    effects: Real
    telling: Real


def profile_of(found: Findings, most: int = MOST_FEATURES) -> Profile:
    """Compute the profiles of the clusters."""
    telling = np.zeros(found.values.shape[1])
    for about in found.contrasts.columns:
        telling[slice(*found.columns[about.position].features)] = about.importance
    main = np.concatenate([_main_features(found, column) for column in found.columns])
    kept = np.sort(main[np.argsort(-telling[main], kind="stable")[:most]])
    effects = _effects(found.values[:, kept], found.labels, found.n_clusters)
    order = _side_by_side(effects)
    return Profile(kept[order], effects[:, order], telling)


def _main_features(found: Findings, column: TableColumn) -> Index:
    """The features of a column; of a category those of its most frequent levels."""
    start, stop = column.features
    if stop - start <= MAIN_LEVELS or column.kind == "number":
        return np.arange(start, stop)
    often = np.nansum(found.shown(found.values)[:, start:stop], axis=0)
    main = np.argsort(-often, kind="stable")[:MAIN_LEVELS]
    return start + np.sort(main if found.rows else main[often[main] >= LEAST_VALUES])


def _effects(values: Real, labels: Labels, n_clusters: int) -> Real:
    """Cliff's delta of each cluster and feature, from the sums of ranks of Mann and Whitney's test."""
    ranks = rankdata(values, axis=0, nan_policy="omit")
    seen = ~np.isnan(values)
    member = (labels == np.arange(n_clusters)[:, None]).astype(float)
    n, sums = member @ seen, member @ np.where(seen, ranks, 0.0)
    others = seen.sum(axis=0) - n
    rows = member.sum(axis=1)[:, None]
    usable = enough(n, rows) & enough(others, len(labels) - rows)
    with np.errstate(invalid="ignore", divide="ignore"):
        delta = (2 * sums - n * (n + 1)) / (n * others) - 1
    return np.where(usable, delta, np.nan)


def _side_by_side(effects: Real) -> Index:
    """An order of the columns in which similar ones are adjacent."""
    if effects.shape[1] < 3 or not len(effects):
        return np.arange(effects.shape[1])
    return leaves_list(linkage(np.nan_to_num(effects).T, "average", optimal_ordering=True)).astype(np.intp)
