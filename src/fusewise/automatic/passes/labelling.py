"""The most likely cluster of each row, how sure it is, and whether the row is an outlier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc

from fusewise.automatic.models.clusters import Clusters
from fusewise.automatic.models.mixture import probabilities
from fusewise.automatic.models.spreads import TAIL
from fusewise.automatic.passes.nearby import MANY, n_parts, nearby
from fusewise.kernels.types import Index, Labels, Real
from fusewise.observations import InMemory

#: A row is an outlier if its own cluster has less than this probability at its distance or beyond.
OUTLIER_LEVEL = 0.01
#: Probabilities of all clusters are kept for all rows if they are no more numbers than that: few ask for more of them.
MOST_PROBABILITIES = 10_000_000


@dataclass(frozen=True, eq=False)
class Classified:
    """Assignment of rows to clusters.

    Attributes
    ----------
    labels : the most likely cluster of each row.
    sure : its probability.
    tails : share of the rows of a Student-t cluster that are as far from it as this row or further.
    posterior : N x K, the probability of each cluster for each row; None if it was not asked for.
    """

    labels: Labels
    sure: Real
    tails: Real
    posterior: Real | None

    @classmethod
    def blank(cls, n: int, n_clusters: int, *, posterior: bool) -> Classified:
        """Room for n rows."""
        return cls(
            np.empty(n, np.intp), np.empty(n), np.empty(n), np.empty((n, n_clusters)) if posterior else None
        )  # fmt: skip

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
    if n_parts(clusters) < MANY:
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
