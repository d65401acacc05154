"""The rows that no cluster explains: a sample of all rows that is the denser, the less likely a row is.

A row of a Student-t cluster is as far from it as it is with probability t, the tail. Row i is kept if u_i t_i is among
the smallest `MOST` of all rows, u_i uniform (priority sampling; Duffield, Lund and Thorup, 2007): so it is kept with
the probability min(1, c / t_i), c the first value that is left out, and stands for the inverse of that many rows. Each
factor of e in t has about N c rows in the sample, as far out as there are rows. The summary of a block of rows is its
own sample, and two samples are merged by keeping the smallest of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fusewise.automatic.coordinates.evidence import Evidence
from fusewise.automatic.coordinates.units import Units
from fusewise.automatic.models.clusters import AlongAxes, Clusters
from fusewise.automatic.models.joined import Joined
from fusewise.automatic.models.mixture import probabilities
from fusewise.automatic.passes.labelling import OUTLIER_LEVEL, tail
from fusewise.automatic.passes.nearby import MANY, near_components, nearby
from fusewise.kernels.types import Index, Labels, Mask, Real
from fusewise.observations import InMemory

#: Rows that are kept, and those of them that are searched in a table of few rows: this share, but at least so many.
MOST, SHARE, FEW = 10_000, 0.25, 2500
#: What is kept of each row.
COLUMNS = ("priority", "row", "tail", "density", "label")


class Surprises(NamedTuple):
    """A sample of rows.

    Attributes
    ----------
    priority : u_i t_i, in increasing order; one more than `MOST` if there are as many rows.
    row : position in the table.
    tail, density : t_i, and log p(x_i) under the clusters.
    label : the component nearest to the row.
    n_outlying : how many of all rows are outliers.
    left_out : c, the first priority that is left out (see ``in_order``).
    """

    priority: Real
    row: Index
    tail: Real
    density: Real
    label: Labels
    n_outlying: int
    left_out: float = np.inf

    def merged(self, other: Surprises) -> Surprises:
        """The sample of both."""
        return Surprises.of_all([self, other])

    @classmethod
    def of_all(cls, samples: Sequence[Surprises]) -> Surprises:
        """The sample of several groups of rows."""
        columns: Any = {name: np.concatenate([getattr(each, name) for each in samples]) for name in COLUMNS}
        whole = cls(**columns, n_outlying=sum(each.n_outlying for each in samples))
        return whole.taken(_smallest(whole.priority, whole.row))

    def taken(self, which: Index) -> Surprises:
        """Some of the rows."""
        columns: Any = {name: getattr(self, name)[which] for name in COLUMNS}
        return self._replace(**columns)

    def in_order(self, n_rows: int) -> Surprises:
        """The rows to search, of N in the table and in its order, without those that were not seen."""
        most = min(MOST, max(FEW, int(SHARE * n_rows)))
        kept = np.flatnonzero(np.isfinite(self.priority[:most]))
        left_out = float(self.priority[most]) if len(self.priority) > most else np.inf
        return self.taken(kept[np.argsort(self.row[kept])])._replace(left_out=left_out)

    @property
    def weights(self) -> Real:
        """How many rows each stands for."""
        return np.asarray(np.maximum(self.tail / self.left_out, 1.0))


@dataclass(frozen=True, eq=False)
class Surprised:
    """Summarises a block of rows: a function that is small to send.

    Attributes
    ----------
    clusters : those that should explain the rows.
    units : their scale.
    seed : of the u_i, which depend on it and on the position of the row.
    """

    clusters: Clusters
    units: Units
    seed: int

    def __call__(self, rows: InMemory, first: int) -> Surprises:
        """The sample of a block that begins at a position of the table."""
        known = explained(self.clusters, self.units.applied(rows))
        return self.summary(*known, rows.row_counts > 0, first)

    def summary(self, density: Real, tails: Real, label: Labels, seen: Mask, first: int) -> Surprises:
        """The sample of a block, from what ``explained`` says of its rows and whether any entry of them was seen."""
        where = first + np.arange(len(tails))
        priority = np.where(seen, uniform(where, self.seed) * tails, np.inf)
        n_outlying = int(np.count_nonzero(tails < OUTLIER_LEVEL))
        return Surprises(priority, where, tails, density, label, n_outlying).taken(_smallest(priority, where))


def _smallest(priority: Real, row: Index) -> Index:
    """The first `MOST` + 1 places by priority, and by row where it is equal."""
    some = np.argpartition(priority, MOST)[: MOST + 1] if len(priority) > MOST + 1 else np.arange(len(priority))
    return some[np.lexsort((row[some], priority[some]))]


def explained(clusters: Clusters, rows: InMemory) -> tuple[Real, Real, Labels]:
    """Log p(x_i), the tail, and the likeliest component of each row, on the scale of the clusters.

    Along axes, the tail is that of the row along them or about them, whichever is smaller.
    """
    parts = clusters.parts if isinstance(clusters, Joined) else clusters
    many = parts.n_components >= MANY
    if not isinstance(parts, AlongAxes):
        if many:
            near, dimensions = nearby(parts, rows)
            best = near.likeliest
            return near.total, tail(near.distance[best], dimensions), near.component[best]
        densities, distances, dimensions = parts.log_densities(rows)
        label = densities.argmax(axis=1)
        return probabilities(densities)[1], tail(distances[np.arange(len(label)), label], dimensions), label
    evidence = Evidence.of(parts.subspace, rows)
    if many:
        near = near_components(parts.mixture, evidence)
        best = near.likeliest
        total, distance, label = near.total, near.distance[best], near.component[best]
    else:
        densities, distances = parts.mixture.log_densities(evidence)
        label = densities.argmax(axis=1)
        total, distance = probabilities(densities)[1], distances[np.arange(len(label)), label]
    known = evidence.constant + 0.5 * np.einsum("ki,ki->i", evidence.vector, evidence.places)
    about = np.maximum(-2 * known - rows.seen @ np.log(2 * np.pi * parts.subspace.noises), 0.0)
    left = np.maximum(rows.row_counts - evidence.dimensions, 0)
    return total, np.minimum(tail(distance, evidence.dimensions), tail_about(about, left)), label


def tail_about(distance: Real, left: Index) -> Real:
    """The tail of rows about the axes, at a squared distance from these in so many entries; 1 if none are left."""
    return np.where(left > 0, tail(distance, left), 1.0)


def uniform(index: Index, seed: int) -> Real:
    """Numbers in (0, 1) that depend on each index and the seed only (the mixing function of SplitMix64)."""
    with np.errstate(over="ignore"):
        z = (index.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
        z ^= z >> np.uint64(31)
    return np.asarray(((z >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53)
