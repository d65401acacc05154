"""The clusters that were chosen: two models of what a cluster says of a row, and which of them is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fusewise.automatic.columnwise import fit_columns
from fusewise.automatic.evidence import Evidence
from fusewise.automatic.mixture import Mixture, probabilities
from fusewise.observations import InMemory
from fusewise.observations.entries import Real, Values
from fusewise.subspace import Subspace, reconstruct

Count = npt.NDArray[Any]  # whole numbers

#: Rounds of EM in which rows may be shared between clusters, after the choice.
SOFT_ROUNDS = 4


class Clusters(Protocol):
    """K components, and what they say of the rows of a table on the scale they were fitted to."""

    @property
    def n_components(self) -> int:
        """K."""

    @property
    def shares(self) -> Real:
        """pi_k."""

    @property
    def centers(self) -> Values:
        """K x P."""

    def log_densities(self, table: InMemory) -> tuple[Real, Real, Count]:
        """log pi_k + log p(x_i | k); squared distance of row i from centre k (N x K both); dimensions it has seen."""

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries]: each cluster's guess, weighed by its probability."""


@dataclass(frozen=True, eq=False)
class AlongAxes:
    """Clusters that spread along the axes of a subspace, with one noise about it."""

    subspace: Subspace
    mixture: Mixture

    @property
    def n_components(self) -> int:
        """K."""
        return self.mixture.n_components

    @property
    def shares(self) -> Real:
        """pi_k."""
        return self.mixture.shares

    @property
    def centers(self) -> Values:
        """K x P."""
        return ambient(self.subspace, self.mixture.means)

    def log_densities(self, table: InMemory) -> tuple[Real, Real, Count]:
        """log pi_k + log p(x_i | k); squared distance of row i from centre k (N x K both); dimensions it has seen."""
        evidence = Evidence.of(self.subspace, table)
        return *self.mixture.log_densities(evidence), evidence.dimensions

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries]: each cluster's guess (its centre, moved along with what the row shows), weighed."""
        evidence = Evidence.of(self.subspace, table)
        v = np.zeros(evidence.shape)
        for k in range(self.n_components):
            groups = evidence.grouped(np.full(len(v), k), self.n_components)
            v[groups.order] += posterior[groups.order, k : k + 1] * self.mixture.conditional(groups)
        return ambient(self.subspace, v)


def ambient(subspace: Subspace, places: Real) -> Values:
    """Real coordinates (complex ones as twice as many) as rows of the table."""
    r = subspace.rank
    return reconstruct(subspace, places[:, :r] + 1j * places[:, r:] if places.shape[1] > r else places)


def better_explained(table: InMemory, evidence: Evidence, subspace: Subspace, mixture: Mixture) -> Clusters:
    """The clusters of a mixture along axes, or with independent columns if that explains the entries better.

    Both are densities of the observed entries, so log L - (p/2) log N compares them. The axes count among the
    parameters: P r - r² for the subspace (turning it within itself is in the spreads), P - r for the part of the mean
    that is outside of it, 1 for the noise.
    """
    n, p = table.shape
    densities, _ = mixture.log_densities(evidence)
    posterior, total = probabilities(densities)
    along = AlongAxes(subspace, mixture)
    if mixture.n_components == 1:
        return along
    sides = 2 if np.iscomplexobj(table.values) else 1
    complexity = mixture.complexity + sides * (p - subspace.rank) * (subspace.rank + 1) + 1
    apart = fit_columns(table, posterior, SOFT_ROUNDS)
    if len(np.unique(apart.log_densities(table)[0].argmax(axis=1))) < apart.n_components:
        return along  # a cluster was lost on the way
    gain = apart.log_likelihood - total.sum() - 0.5 * (apart.complexity - complexity) * np.log(n)
    return apart if gain > 0 else along
