"""The most likely cluster of each row, how sure it is, and whether the row is an outlier.

How sure it is that an outlier is one.

Clusters have a share t of their own rows at a certain distance or beyond: n t of n rows. If c rows are that far, the
fraction n t / c of them is expected to be ordinary (the false discovery rate; Benjamini and Hochberg, 1995; Efron and
Tibshirani, 2002), and the others are outliers.

Rows given to the clusters that were chosen: all that is needed for it, small enough to be sent to other machines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc

from fusewise.automatic._clusters import Clusters, Count
from fusewise.automatic._columns import ColumnMixture
from fusewise.automatic._intervals import as_entries, sites_of
from fusewise.automatic._mixture import TAIL, log_tails, probabilities
from fusewise.automatic._nearby import MANY, nearby
from fusewise.automatic._units import Units
from fusewise.kernels import Index, Labels, Real, Values
from fusewise.observations import BoundedEntries, InMemory, Table, each_block

#: A row is an outlier if its own cluster has less than this probability at its distance or beyond.
OUTLIER_LEVEL = 0.01
#: Probabilities of all clusters are kept for all rows if they are no more numbers than that: few ask for more of them.
MOST_PROBABILITIES = 10_000_000


@dataclass(frozen=True, eq=False)
class Classified:
    """Assignment of rows to clusters."""

    labels: Labels  # the most likely cluster of each row
    sure: Real  # its probability
    tails: Real  # share of the rows of a Student-t cluster that are as far from it as this row or further
    posterior: Real | None  # N x K, the probability of each cluster for each row, if it was asked for

    @classmethod
    def blank(cls, n: int, n_clusters: int, *, posterior: bool) -> Classified:
        """Room for n rows."""
        every = np.empty((n, n_clusters)) if posterior else None
        return cls(np.empty(n, np.intp), np.empty(n), np.empty(n), every)

    @property
    def outlying(self) -> npt.NDArray[np.bool_]:
        """Whether a row is further from its cluster than 99% of the rows of a Student-t cluster."""
        return np.asarray(self.tails < OUTLIER_LEVEL)

    def put(self, where: slice | Index, block: Classified) -> None:
        """Fill in some rows."""
        self.labels[where], self.sure[where], self.tails[where] = block.labels, block.sure, block.tails
        if self.posterior is not None:
            self.posterior[where] = block.posterior


def classified(clusters: Clusters, rows: InMemory, *, posterior: bool) -> Classified:
    """Assign a block of rows, on the scale of the clusters.

    Where there are many clusters only those near a row are looked at, and the others have probability zero.
    """
    if clusters.n_parts < MANY or rows.weights is not None:
        densities, distances, dimensions = clusters.log_densities(rows)
        shares, _ = probabilities(densities)
        labels = shares.argmax(axis=1)
        own = np.arange(len(labels)), labels
        return Classified(labels, shares[own], tail(distances[own], dimensions), shares if posterior else None)
    near, dimensions = nearby(clusters, rows)
    best = near.likeliest
    sure = np.exp(near.density[best] - near.total)
    every = near.dense(clusters.n_components) if posterior else None
    return Classified(near.component[best], sure, tail(near.distance[best], dimensions), every)


def tail(distance: Real, dimensions: npt.NDArray[np.integer]) -> Real:
    """Share of the rows of a Student-t cluster at a squared distance or beyond, in so many dimensions."""
    d = np.maximum(dimensions, 1)
    return np.asarray(fdtrc(d, TAIL, distance / d))


def outlier_confidence(tails: Real, known: Real, n_rows: int, counts: Index | None = None) -> Real:
    """1 - min over s >= t of n s / #{j: t_j <= s}, for each t: the probability that such a row is an outlier.

    t is the share of a cluster's rows as far from it as a row, or further; `known` those of the outliers among the n
    rows of the fit, in increasing order, and `counts` how many have this share or less (by default 1, 2, ...).
    """
    counts = np.arange(1, len(known) + 1) if counts is None else counts
    rates = n_rows * known / counts
    further = np.append(np.minimum.accumulate(rates[::-1])[::-1], np.inf)
    place = np.searchsorted(known, tails, side="right")
    count = np.append(0, counts)[place]
    return np.asarray(1 - np.minimum(np.minimum(n_rows * tails / np.maximum(count, 1), further[place]), 1.0))


@dataclass(frozen=True, eq=False)
class Classifier:
    """Clusters, and the scale on which they are."""

    units: Units
    clusters: Clusters

    def placed(self, rows: InMemory) -> InMemory:
        """The rows of a table on the scale of the clusters, with normal observations for entries in intervals."""
        return as_entries(self.clusters, self.units.applied(rows))

    def classify(self, table: Table, *, posterior: bool | None = None) -> Classified:
        """Find the most likely cluster of each row, its probability, and whether it is an outlier.

        With `posterior` also the probabilities of all clusters; by default where these are not too many.
        """
        n, k = table.shape[0], self.clusters.n_components
        keep = n * k <= MOST_PROBABILITIES if posterior is None else posterior
        found = Classified.blank(n, k, posterior=keep)

        def one(rows: InMemory, where: slice) -> None:
            found.put(where, classified(self.clusters, self.placed(rows), posterior=keep))

        dense = self.clusters.n_parts >= MANY and isinstance(self.clusters.parts[0], ColumnMixture)
        each_block(one, table, width=max(table.shape[1], self.clusters.n_parts) if dense else None)
        return found

    def distances(self, table: Table) -> Real:
        """sqrt(2 (L_i - l_ik)) of each row from each cluster, N x K: see ``deviances``."""
        found = np.empty((table.shape[0], self.clusters.n_components))

        def one(rows: InMemory, where: slice) -> None:
            found[where] = np.sqrt(deviances(*self.clusters.log_densities(self.placed(rows))))

        each_block(one, table, width=max(table.shape[1], self.clusters.n_parts))
        return found

    def log_likelihood(self, table: Table) -> Real:
        """log p(x_i) of what is known of each row, in standard deviations of the columns of the fit."""
        found = np.empty(table.shape[0])

        def one(rows: InMemory, where: slice) -> None:
            scaled = self.units.scaled(rows)
            of_intervals: Real | float = 0.0
            own = self.units.made_symmetric(scaled)
            if isinstance(own, BoundedEntries):
                sites = sites_of(self.clusters, own)
                own, of_intervals = sites.entries, sites.log_scale
            densities = self.clusters.log_densities(own)[0]
            found[where] = probabilities(densities)[1] + self.units.log_slopes(scaled) + of_intervals

        each_block(one, table, width=max(table.shape[1], self.clusters.n_parts))
        return found

    def completed(self, table: Table, posterior: Real | None = None) -> Values:
        """E[row | its entries], in the units of the table: the clusters' predictions, weighted by their probability."""
        filled = np.empty(table.shape, self.units.middle.dtype)

        def one(rows: InMemory, where: slice) -> None:
            own, sites = self.units.applied(rows), None
            if isinstance(own, BoundedEntries):
                sites = sites_of(self.clusters, own)
                own = sites.entries
            shares = classified(self.clusters, own, posterior=True).posterior if posterior is None else posterior[where]
            whole = self.clusters.completed(own, np.asarray(shares))
            if sites is not None:
                whole[sites.where] = sites.given.mean
            filled[where] = self.units.undone(whole)

        each_block(one, table, width=table.shape[1])
        return filled


def deviances(densities: Real, squares: Real, dimensions: Count) -> Real:
    """2 (L_i - l_ik), N x K, where L_i is the most that row i would have at a centre, whichever is the likeliest.

    l_ik = log pi_k + log p(x_i | k), and a row at the distance D_ik has log t(D_ik) - log t(0) less than at the centre,
    where t is the density of Student's distribution. L_i - l_ik does not depend on units, and it is smallest in the
    cluster that the row is given to. For equal spreads and shares it is a function of D_ik alone. The l_ik, the D_ik²
    and the dimensions that each row determines are those of ``Clusters.log_densities``.
    """
    d = np.asarray(dimensions)[:, None]
    tops = densities + log_tails(np.zeros_like(squares), d) - log_tails(squares, d)
    return np.asarray(2 * np.maximum(tops.max(axis=1, keepdims=True) - densities, 0))
