"""Rare clusters beside the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fusewise.automatic.coordinates.evidence import Evidence
from fusewise.automatic.models.clusters import AlongAxes, Clusters, Count
from fusewise.automatic.models.columnwise import ColumnMixture
from fusewise.automatic.models.joined import Joined
from fusewise.automatic.models.mixture import probabilities
from fusewise.kernels.checked import Checked, Record
from fusewise.kernels.field_rules import Dims, Number
from fusewise.kernels.types import Index, Real, Values
from fusewise.observations import InMemory


@dataclass(frozen=True, eq=False)
class Beside(Checked):
    """Clusters, then rare ones with independent columns: p(x) = (1 - s) p_1(x) + s p_2(x).

    A rare cluster has few rows, and may lie outside the axes of the others.

    Attributes
    ----------
    common, rare : p_1 and p_2.
    share : s.
    """

    common: Clusters
    rare: ColumnMixture
    share: float

    _rules: ClassVar = {
        "common": Record(AlongAxes, ColumnMixture, Joined, K="first", P="P"),
        "rare": Record(ColumnMixture, K="second", P="P"),
        "share": Number(low=0),
    }

    def _agree(self, dims: Dims) -> None:
        dims["K"] = dims["first"] + dims["second"]

    def _verify(self) -> None:
        if self.share > 1:
            raise ValueError(f"Beside.share is {self.share}: it must be at most 1")

    @property
    def n_components(self) -> int:
        """K."""
        return self.common.n_components + self.rare.n_components

    @property
    def shares(self) -> Real:
        """pi_k."""
        return np.concatenate([(1 - self.share) * self.common.shares, self.share * self.rare.shares])

    @property
    def centers(self) -> Values:
        """K x P."""
        return np.concatenate([self.common.centers, self.rare.centers])

    def log_densities(self, table: InMemory) -> tuple[Real, Real, Count]:
        """Log pi_k + log p(x_i | k); squared distance of row i from centre k; dimensions it determines."""
        densities, distances, dimensions = self.common.log_densities(table)
        others, far = self.of_rare(table, dimensions)
        return (
            np.column_stack([densities + np.log1p(-self.share), others]),
            np.column_stack([distances, far]),
            dimensions,
        )

    def of_rare(self, table: InMemory, dimensions: Count) -> tuple[Real, Real]:
        """Log pi_k + log p(x_i | k) and distances for the rare clusters alone.

        Distances are brought to the dimensions of the others: to the same square for each dimension.
        """
        densities, distances, numbers = self.rare.log_densities(table)
        scale = np.maximum(dimensions, 1) / np.maximum(numbers, 1)
        return densities + np.log(self.share), distances * scale[:, None]

    def only(self, kept: Index) -> Clusters:
        """Some of the clusters, their shares in the same proportions."""
        first = self.common.n_components
        shares, rare = self.shares, np.sort(kept)[np.sort(kept) >= first]
        own = np.sort(kept)[np.sort(kept) < first]
        if not len(rare):
            return self.common.only(own)
        if not len(own):
            return self.rare.only(rare - first)
        share = float(shares[rare].sum() / shares[kept].sum())
        return Beside(self.common.only(own), self.rare.only(rare - first), share)

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries]: the predictions of both, weighted by their probability."""
        first = self.common.n_components
        whole = posterior[:, :first].sum(axis=1, keepdims=True)
        own = posterior[:, :first] / np.maximum(whole, np.finfo(float).tiny)
        return np.asarray(whole * self.common.completed(table, own) + self.rare.completed(table, posterior[:, first:]))

    def redrawn(self, evidence: Evidence, random: np.random.Generator) -> Beside:
        """Parameters drawn about their estimates."""
        common, rare = self.common.redrawn(evidence, random), self.rare.redrawn(evidence, random)
        return replace(self, common=common, rare=rare)

    def drawn(self, table: InMemory, scale: Real, random: np.random.Generator) -> Values:
        """Rows drawn given their entries: first of which kind, then from it."""
        posterior = probabilities(self.log_densities(table)[0])[0]
        rare = random.random(len(posterior)) < posterior[:, self.common.n_components :].sum(axis=1)
        one, other = self.common.drawn(table, scale, random), self.rare.drawn(table, scale, random)
        return np.where(rare[:, None], other, one)
