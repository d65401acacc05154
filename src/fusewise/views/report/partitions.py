"""The partitions that the page can show: the result, and the other numbers of clusters that are nearly as good."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fusewise.automatic.alternatives import Alternative
from fusewise.views.findings import Findings, Missingness, Profile, compare_missingness, profile_of
from fusewise.views.findings.observed_centers import ObservedCenters
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
    def observed(self) -> ObservedCenters:
        """Means and medians of its observed values."""
        return ObservedCenters.of(self.found.values, self.found.labels, self.found.n_clusters)

    @cached_property
    def missing(self) -> Missingness:
        """Its missing values."""
        return compare_missingness(self.found)


def partitions_of(found: Findings) -> list[Partition]:
    """The result, then its alternatives by their number of clusters."""
    others = sorted(alternatives(found), key=lambda other: other.n_clusters)
    return [Partition(found, True), *(Partition(_with(found, other), False) for other in others)]


def _with(found: Findings, other: Alternative) -> Findings:
    """The same rows in other clusters; their centres are the means of the observed values, of all rows if none is."""
    means = ObservedCenters.of(found.values, other.labels, other.n_clusters).means
    whole = np.nan_to_num(ObservedCenters.of(found.values, np.zeros(len(found.values), np.intp), 1).means)
    centers = np.where(np.isnan(means), whole, means)
    labels = other.labels[found.drawn]
    fused = np.where(labels[:, None] >= 0, centers[labels], found.completed)
    return replace(found, labels=other.labels, centers=centers, fused=fused, confidence=None)
