"""Clusters that are each one component or several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fusewise.automatic.coordinates.evidence import Evidence
from fusewise.automatic.models.clusters import AlongAxes, Clusters, Count
from fusewise.automatic.models.columnwise import ColumnMixture
from fusewise.automatic.models.mixture import probabilities
from fusewise.kernels import field_rules
from fusewise.kernels.checked import Checked, Record
from fusewise.kernels.field_rules import Dims
from fusewise.kernels.types import Index, Real, Values
from fusewise.observations import InMemory


@dataclass(frozen=True, eq=False)
class Joined(Checked):
    """Clusters that are each one component or several.

    Attributes
    ----------
    parts : the components.
    group : the cluster of each component.
    """

    parts: Clusters
    group: Index

    _rules: ClassVar = {
        "parts": Record(AlongAxes, ColumnMixture, K="J", P="P"),
        "group": field_rules.Index("J", below="J"),
    }

    def _agree(self, dims: Dims) -> None:
        dims["K"] = int(self.group.max(initial=-1)) + 1

    def _verify(self) -> None:
        if len(np.unique(self.group)) != self.n_components:
            raise ValueError("Joined.group has a cluster without a component")

    @property
    def n_components(self) -> int:
        """K."""
        return int(self.group.max()) + 1

    @property
    def shares(self) -> Real:
        """pi_k."""
        return np.asarray(np.bincount(self.group, self.parts.shares), dtype=float)

    @property
    def centers(self) -> Values:
        """K x P, the means of the components' centres, weighted by their shares."""
        weights = (self.group == np.arange(self.n_components)[:, None]) * self.parts.shares
        return np.asarray(weights / weights.sum(axis=1, keepdims=True) @ self.parts.centers)

    def log_densities(self, table: InMemory) -> tuple[Real, Real, Count]:
        """Log pi_k + log p(x_i | k); squared distance of row i from the nearest centre in k; observed dimensions."""
        densities, distances, dimensions = self.parts.log_densities(table)
        groups = [self.group == k for k in range(self.n_components)]
        summed = np.column_stack([np.logaddexp.reduce(densities[:, group], axis=1) for group in groups])
        return summed, np.column_stack([distances[:, group].min(axis=1) for group in groups]), dimensions

    def only(self, kept: Index) -> Joined:
        """Some of the clusters, with all of their components."""
        parts = np.flatnonzero(np.isin(self.group, kept))
        return Joined(self.parts.only(parts), np.searchsorted(np.sort(kept), self.group[parts]))

    def occupied(self, table: InMemory, away: Real | float = 0.0) -> Joined:
        """The clusters that are the likeliest one of some row of the table, after adding `away`."""
        return self.only(np.unique((self.log_densities(table)[0] + away).argmax(axis=1)))

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries]: the posterior of a cluster is shared among its components by their own."""
        own, _ = probabilities(self.parts.log_densities(table)[0])
        whole = np.column_stack([own[:, self.group == k].sum(axis=1) for k in range(self.n_components)])
        return self.parts.completed(table, own * (posterior / whole)[:, self.group])

    def redrawn(self, evidence: Evidence, random: np.random.Generator) -> Joined:
        """Parameters drawn about their estimates."""
        return replace(self, parts=self.parts.redrawn(evidence, random))

    def drawn(self, table: InMemory, scale: Real, random: np.random.Generator) -> Values:
        """Rows drawn given their entries."""
        return self.parts.drawn(table, scale, random)


def joined_clusters(clusters: Clusters, group: Index) -> Clusters:
    """The clusters, those joined that have the same number in `group`."""
    if group.max() + 1 == len(group):
        return clusters
    return Joined(clusters.parts, group[clusters.group]) if isinstance(clusters, Joined) else Joined(clusters, group)
