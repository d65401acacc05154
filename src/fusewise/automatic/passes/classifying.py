"""Rows given to the clusters that were chosen: all that is needed for it, small enough to be sent to other machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fusewise.automatic.coordinates.units import Units
from fusewise.automatic.models.clusters import Clusters, Count
from fusewise.automatic.models.mixture import log_tails, probabilities
from fusewise.automatic.models.taught import Taught
from fusewise.automatic.passes.labelling import MOST_PROBABILITIES, Classified, classified
from fusewise.automatic.passes.nearby import MANY, n_parts
from fusewise.kernels.devices import torch_device
from fusewise.kernels.types import Real, Values
from fusewise.observations import InMemory, SparseEntries, Table, each_block
from fusewise.observations.kinds import Remote


@dataclass(frozen=True, eq=False)
class Classifier:
    """Clusters, and the scale on which they are.

    Attributes
    ----------
    units, clusters : those of ``Choice``.
    """

    units: Units
    clusters: Clusters

    def classify(self, table: Table, *, posterior: bool | None = None, device: str = "cpu") -> Classified:
        """Find the most likely cluster of each row, its probability, and whether it is an outlier.

        With `posterior` also the probabilities of all clusters; by default where these are not too many. `device` is
        that of ``torch_device``; a device takes real tables that are not sparse, and fewer clusters than ``MANY``, but
        no classes taught by labels.
        """
        n, k = table.shape[0], self.clusters.n_components
        keep = n * k <= MOST_PROBABILITIES if posterior is None else posterior
        found = Classified.blank(n, k, posterior=keep)
        there = device_for(device, self.clusters, table)
        if there is not None:
            from fusewise.automatic.passes.device_passes import DeviceUnits, label_rows

            label_rows(self.clusters, DeviceUnits(self.units, there), table, found)
            return found

        def one(rows: InMemory, where: slice) -> None:
            found.put(where, classified(self.clusters, self.units.applied(rows), posterior=keep))

        each_block(one, table)
        return found

    def distances(self, table: Table) -> Real:
        """sqrt(2 (L_i - l_ik)) of each row from each cluster, N x K: see ``deviances``."""
        found = np.empty((table.shape[0], self.clusters.n_components))

        def one(rows: InMemory, where: slice) -> None:
            found[where] = np.sqrt(deviances(*self.clusters.log_densities(self.units.applied(rows))))

        each_block(one, table, width=max(table.shape[1], n_parts(self.clusters)))
        return found

    def log_likelihood(self, table: Table) -> Real:
        """log p(x_i) of the observed entries of each row, in standard deviations of the columns of the fit."""
        found = np.empty(table.shape[0])

        def one(rows: InMemory, where: slice) -> None:
            scaled = self.units.scaled(rows)
            densities = self.clusters.log_densities(self.units.made_symmetric(scaled))[0]
            found[where] = probabilities(densities)[1] + self.units.log_slopes(scaled)

        each_block(one, table, width=max(table.shape[1], n_parts(self.clusters)))
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


def deviances(densities: Real, squares: Real, dimensions: Count) -> Real:
    """2 (L_i - l_ik), N x K, where L_i is the most that row i would have at a centre, whichever is the likeliest.

    l_ik = log pi_k + log p(x_i | k), and a row at the distance D_ik has log t(D_ik) - log t(0) less than at the centre,
    where t is the density of Student's distribution. L_i - l_ik does not depend on units, and it is smallest in the
    cluster that the row is given to. For equal spreads and shares it is a function of D_ik alone.

    Parameters
    ----------
    densities, squares, dimensions : the l_ik, the D_ik² and the dimensions that each row determines, as
        ``Clusters.log_densities`` gives them.
    """
    d = np.asarray(dimensions)[:, None]
    tops = densities + log_tails(np.zeros_like(squares), d) - log_tails(squares, d)
    return np.asarray(2 * np.maximum(tops.max(axis=1, keepdims=True) - densities, 0))


def device_for(name: str, clusters: Clusters, table: Table) -> Any:
    """The torch device on which the rows of a table are labelled; None for the CPU, and for what only it can do."""
    there = torch_device(name)
    possible = table.dtype.kind == "f" and not isinstance(table, SparseEntries | Remote)
    possible = possible and n_parts(clusters) < MANY and not isinstance(clusters, Taught)
    return there if possible else None
