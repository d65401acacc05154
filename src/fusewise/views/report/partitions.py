"""The partitions that the page can show: the result, and the other numbers of clusters that are nearly as good."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fusewise.automatic.alternatives import Alternative
from fusewise.kernels.types import Labels, Real
from fusewise.views.findings import Findings, Missingness, Profile, compare_missingness, profile_of
from fusewise.views.sureness import alternatives


@dataclass(frozen=True, eq=False)
class Partition:
    """A partition of the rows and what there is to say about it.

    Attributes
    ----------
    found : the findings with the labels and centres of this partition.
    is_result : whether it is the result of the model.
    """

    found: Findings
    is_result: bool

    @cached_property
    def profile(self) -> Profile:
        """Its centres by feature."""
        return profile_of(self.found)

    @cached_property
    def missing(self) -> Missingness:
        """Its missing values."""
        return compare_missingness(self.found)


def partitions_of(found: Findings) -> list[Partition]:
    """The result, then its alternatives by their number of clusters."""
    others = sorted(alternatives(found), key=lambda other: other.n_clusters)
    return [Partition(found, True), *(Partition(_with(found, other), False) for other in others)]


def _with(found: Findings, other: Alternative) -> Findings:
    """The same rows in other clusters; their centres are the means of the observed values."""
    centers = observed_means(found.values, other.labels, other.n_clusters)
    labels = other.labels[found.drawn]
    fused = np.where(labels[:, None] >= 0, centers[labels], found.completed)
    return replace(found, labels=other.labels, centers=centers, fused=fused, confidence=None)


def observed_means(values: Real, labels: Labels, n_clusters: int) -> Real:
    """K x P means of the observed entries of each cluster; of all rows where a cluster has none."""
    seen = ~np.isnan(values)
    member = (labels == np.arange(n_clusters)[:, None]).astype(float)
    filled = np.where(seen, values, 0.0)
    whole = filled.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    counts = member @ seen
    return np.asarray(np.where(counts > 0, (member @ filled) / np.maximum(counts, 1), whole))
