"""Rows given to the clusters that were chosen: all that is needed for it, small enough to be sent to other machines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc

from fusewise.automatic.clusters import Clusters
from fusewise.automatic.mixture import probabilities
from fusewise.automatic.spreads import TAIL
from fusewise.kernels.types import Index, Labels, Real, Values
from fusewise.observations import InMemory, Table, each_block

#: A row is an outlier if its own cluster has less than this probability at its distance or beyond.
OUTLIER_LEVEL = 0.01


@dataclass(frozen=True, eq=False)
class Classified:
    """Assignment of rows to clusters.

    Attributes
    ----------
    labels : the most likely cluster of each row.
    posterior : N x K, the probability of each cluster for each row.
    tails : share of the rows of a Student-t cluster that are as far from it as this row or further.
    """

    labels: Labels
    posterior: Real
    tails: Real

    @property
    def outlying(self) -> npt.NDArray[np.bool_]:
        """Whether a row is further from its cluster than 99% of the rows of a Student-t cluster."""
        return np.asarray(self.tails < OUTLIER_LEVEL)


@dataclass(frozen=True, eq=False)
class Classifier:
    """Clusters, and the scale on which they are.

    Attributes
    ----------
    columns, scale, middle, clusters : those of ``Choice``.
    """

    columns: Index
    scale: Real
    middle: Values
    clusters: Clusters

    def classify(self, table: Table) -> Classified:
        """Find the most likely cluster of each row, its cluster probabilities, and whether it is an outlier."""
        n = table.shape[0]
        found = Classified(np.empty(n, np.intp), np.empty((n, self.clusters.n_components)), np.empty(n))

        def one(rows: InMemory, where: slice) -> None:
            densities, distances, dimensions = self.clusters.log_densities(self.standardised(rows))
            posterior, _ = probabilities(densities)
            labels = posterior.argmax(axis=1)
            d = np.maximum(dimensions, 1)
            nearest = distances[np.arange(len(labels)), labels]
            found.labels[where], found.posterior[where] = labels, posterior
            found.tails[where] = fdtrc(d, TAIL, nearest / d)

        each_block(one, table)
        return found

    def completed(self, table: Table, posterior: Real) -> Values:
        """E[row | its entries], in the units of the table: the clusters' predictions, weighted by their probability."""
        filled = np.empty(table.shape, self.middle.dtype)

        def one(rows: InMemory, where: slice) -> None:
            filled[where] = self.in_units(self.clusters.completed(self.standardised(rows), posterior[where]))

        each_block(one, table, width=table.shape[1])
        return filled

    def standardised(self, rows: InMemory) -> InMemory:
        """Standardise the rows of a table to the scale of the clusters."""
        return rows.standardised(self.columns, self.scale, self.middle)

    def in_units(self, rows: Values) -> Values:
        """Convert standardised rows of the varying columns to rows of the table."""
        whole = np.repeat(self.middle[None], len(rows), axis=0)
        whole[:, self.columns] += rows * self.scale[self.columns]
        return whole
