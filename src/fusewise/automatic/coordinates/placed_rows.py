"""Rows placed in a subspace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fusewise.automatic.coordinates.evidence import Evidence
from fusewise.kernels.types import Index, Labels, Real
from fusewise.observations.groups import group_means


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in a subspace: the evidence on their coordinates, and the posterior of these.

    Attributes
    ----------
    evidence : the likelihood of the coordinates given the entries.
    places, covariances : mean and covariance of each row's coordinates, N x r and N x r x r.
    variances : variance of each coordinate over all rows, r.
    """

    evidence: Evidence
    places: Real
    covariances: Real
    variances: Real

    @classmethod
    def of(cls, evidence: Evidence, variances: Real) -> Rows:
        """Compute the posterior of coordinates with prior N(0, diag(variances))."""
        return cls(evidence, *evidence.posterior(variances), variances)

    def evened(self, noise: float) -> Rows:
        """The same rows in units of the standard deviation along each axis, or of the noise if that is larger."""
        units = np.sqrt(np.maximum(self.variances, noise))
        return Rows.of(self.evidence.turned(np.diag(units)), self.variances / units**2)

    def within(self, labels: Labels) -> Real:
        """Spread around the means of groups, including the uncertainty of each row."""
        deviations = self.places - group_means(self.places, labels)[labels]
        return np.asarray((deviations.T @ deviations + self.covariances.sum(axis=0)) / len(deviations))

    @property
    def best_known(self) -> Index:
        """The half of the rows whose coordinates are known best, and those known as well; sorted.

        A row is known as far as its entries lower the variance of its coordinates, on average over these.
        """
        unknown = (np.einsum("irr->ir", self.covariances) / np.maximum(self.variances, 1e-300)).mean(axis=1)
        return np.flatnonzero(unknown <= np.median(unknown) * (1 + 1e-9))

    def some(self, which: Index) -> tuple[Rows, Index]:
        """Some of the rows, and the order they are in; variances stay those of all rows."""
        groups = self.evidence.grouped(np.zeros(len(which), np.intp), 1, which)
        order = which[groups.order]
        return Rows(groups.evidence, self.places[order], self.covariances[order], self.variances), order

    def prior(self, n_groups: int) -> Real:
        """Approximate spread of each of K groups that together fill the space."""
        return np.asarray(np.diag(self.variances) / n_groups ** (2 / len(self.variances)))
