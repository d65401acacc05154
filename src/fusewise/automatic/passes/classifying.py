"""Rows given to the clusters that were chosen: all that is needed for it, small enough to be sent to other machines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fusewise.automatic.coordinates.units import Units
from fusewise.automatic.models.clusters import Clusters
from fusewise.automatic.passes.labelling import MOST_PROBABILITIES, Classified, classified
from fusewise.kernels.types import Real, Values
from fusewise.observations import InMemory, Table, each_block


@dataclass(frozen=True, eq=False)
class Classifier:
    """Clusters, and the scale on which they are.

    Attributes
    ----------
    units, clusters : those of ``Choice``.
    """

    units: Units
    clusters: Clusters

    def classify(self, table: Table, *, posterior: bool | None = None) -> Classified:
        """Find the most likely cluster of each row, its probability, and whether it is an outlier.

        With `posterior` also the probabilities of all clusters; by default where these are not too many.
        """
        n, k = table.shape[0], self.clusters.n_components
        keep = n * k <= MOST_PROBABILITIES if posterior is None else posterior
        found = Classified.blank(n, k, posterior=keep)

        def one(rows: InMemory, where: slice) -> None:
            found.put(where, classified(self.clusters, self.units.applied(rows), posterior=keep))

        each_block(one, table)
        return found

    def completed(self, table: Table, posterior: Real | None = None) -> Values:
        """E[row | its entries], in the units of the table: the clusters' predictions, weighted by their probability."""
        filled = np.empty(table.shape, self.units.middle.dtype)

        def one(rows: InMemory, where: slice) -> None:
            own = self.units.applied(rows)
            shares = classified(self.clusters, own, posterior=True).posterior if posterior is None else posterior[where]
            filled[where] = self.units.undone(self.clusters.completed(own, np.asarray(shares)))

        each_block(one, table, width=table.shape[1])
        return filled
