"""Which of many components may have given a row: all whose density is not negligible beside the best one's.

With K components and N rows, K N densities of order r² each are most of the work where K is large, and nearly all of
them are negligible. So they are bounded first. With W the mean spread, e_1 <= ... <= e_r the eigenvalues of
W^-1 Sigma_k and C_i the covariance of the row's least-squares coordinates v_i,

    D_ik² >= G_ik / max(e_r, 1),   G_ik = |R (v_i - mu_k)|²  with R' R = (W + C_i)^-1,
    det(Sigma_k + C_i) >= det(W + C_i) prod_j min(e_j, 1)

(Sigma_k <= max(e_r, 1) W; and a determinant grows by less, the larger C_i is). R is shared by all rows with the same
columns missing, and G takes r products for each row and component. Since

    log p(k, i) = const + a_ik - ((nu + d) / 2) log(nu + D_ik²)

falls with (nu + D²) exp(-2 a / (nu + d)), the bounds are compared as they are, without a logarithm. Components that are
left out have less than ``NEGLIGIBLE`` of the probability of a row, all together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fusewise.automatic.coordinates.evidence import Evidence, regular
from fusewise.automatic.models.beside import Beside
from fusewise.automatic.models.clusters import AlongAxes, Clusters
from fusewise.automatic.models.columnwise import ColumnMixture
from fusewise.automatic.models.joined import Joined
from fusewise.automatic.models.mixture import Mixture, log_tails
from fusewise.automatic.passes.screening import in_room, screen_columns, screen_components
from fusewise.kernels.types import Index, Labels, Real
from fusewise.observations import Entries, InMemory

#: Numbers of components from which densities are bounded before they are computed.
MANY = 64
#: Probability that all components that are left out have together, at most.
NEGLIGIBLE = 1e-4


class Nearby(NamedTuple):
    """The components near each row, and log pi_k + log p(x_i | k) of these.

    Attributes
    ----------
    begin : N + 1, where those of each row begin.
    component, density, distance : the component, the log-density and the squared distance, one row after another.
    """

    begin: Index
    component: Index
    density: Real
    distance: Real

    @property
    def row(self) -> Index:
        """The row of each entry."""
        return np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))

    def joined(self, group: Index) -> Nearby:
        """The same for clusters of several components: densities are added, and distances are those of the nearest."""
        row, own = self.row, group[self.component]
        order = np.lexsort((own, row))
        row, own = row[order], own[order]
        first = np.flatnonzero(np.diff(row, prepend=-1) | np.diff(own, prepend=-1))
        density = np.logaddexp.reduceat(self.density[order], first)
        distance = np.minimum.reduceat(self.distance[order], first)
        begin = np.searchsorted(row[first], np.arange(len(self.begin)))
        return Nearby(begin, own[first], density, distance)

    def beside(self, other: Nearby, first: int) -> Nearby:
        """Both, the components of the other numbered from `first`."""
        row = np.concatenate([self.row, other.row])
        order = np.argsort(row, kind="stable")
        component = np.concatenate([self.component, first + other.component])
        density, distance = (np.concatenate(pair) for pair in zip(self[2:], other[2:], strict=True))
        return Nearby(self.begin + other.begin, component[order], density[order], distance[order])

    @property
    def total(self) -> Real:
        """log p(x_i), summed over the components."""
        return np.asarray(np.logaddexp.reduceat(self.density, self.begin[:-1]))

    @property
    def likeliest(self) -> Index:
        """The entry of the most likely component of each row."""
        top = np.maximum.reduceat(self.density, self.begin[:-1])
        found = np.flatnonzero(self.density == top[self.row])
        return found[np.unique(self.row[found], return_index=True)[1]]

    @property
    def labels(self) -> Labels:
        """The most likely component of each row."""
        return self.component[self.likeliest]

    def dense(self, n_components: int) -> Real:
        """Probability of each component for each row, N x K."""
        found = np.full((len(self.begin) - 1, n_components), 0.0)
        found[self.row, self.component] = np.exp(self.density - self.total[self.row])
        return found


def nearby(clusters: Clusters, table: InMemory) -> tuple[Nearby, Index]:
    """The clusters near each row of a table (on the scale of the fit), and the dimensions that each row determines."""
    if isinstance(clusters, Beside):
        common, dimensions = nearby(clusters.common, table)
        common = common._replace(density=common.density + np.log1p(-clusters.share))
        densities, distances = clusters.of_rare(table, dimensions)
        return common.beside(_of_all(densities, distances), clusters.common.n_components), dimensions
    if isinstance(clusters, Joined):
        found, dimensions = nearby(clusters.parts, table)
        return found.joined(clusters.group), dimensions
    if isinstance(clusters, AlongAxes):
        evidence = Evidence.of(clusters.subspace, table)
        return near_components(clusters.mixture, evidence), evidence.dimensions
    if isinstance(clusters, ColumnMixture) and isinstance(table, Entries) and not clusters.levels:
        return near_columns(clusters, table)
    densities, distances, dimensions = clusters.log_densities(table)
    return _of_all(densities, distances), dimensions


def n_parts(clusters: Clusters) -> int:
    """Components of which densities are computed; several may be one cluster."""
    common = clusters.common if isinstance(clusters, Beside) else clusters
    return (common.parts if isinstance(common, Joined) else common).n_components


def _of_all(densities: Real, distances: Real) -> Nearby:
    """From densities that were all computed, N x K."""
    k = densities.shape[1]
    kept = densities >= densities.max(axis=1, keepdims=True) - np.log(k / NEGLIGIBLE)
    begin = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    return Nearby(begin, np.nonzero(kept)[1], densities[kept], distances[kept])


def near_components(mixture: Mixture, evidence: Evidence) -> Nearby:
    """The components of a mixture along axes near each row."""
    n, k = evidence.shape[0], mixture.n_components
    spreads = regular(mixture.spreads)
    common = np.einsum("k,kij->ij", mixture.shares, spreads)
    undone = np.linalg.inv(np.linalg.cholesky(common))
    sizes = np.linalg.eigvalsh(undone @ spreads @ undone.T)
    least = np.log(mixture.shares) - 0.5 * np.log(np.minimum(sizes, 1.0)).sum(axis=1)
    covariances, log_det = evidence.uncertainty
    covariances = np.ascontiguousarray(covariances.transpose(2, 0, 1))
    roots = np.ascontiguousarray(np.linalg.inv(np.linalg.cholesky(common + covariances)))
    rows = np.argsort(evidence.pattern, kind="stable")
    arrays = (
        np.ascontiguousarray(evidence.places.T), evidence.pattern, evidence.dimensions.astype(float), rows,
        covariances, roots, np.ascontiguousarray(mixture.means), spreads, np.log(mixture.shares), least,
        np.maximum(sizes[:, -1], 1.0),
    )  # fmt: skip
    found = in_room(n, k, lambda *to: screen_components(*arrays, _range(k), *to))
    known = evidence.constant + 0.5 * np.einsum("ki,ki->i", evidence.vector, evidence.places)
    known += 0.5 * log_det[evidence.pattern]
    return _finished(found, rows, known, evidence.dimensions)


def near_columns(mixture: ColumnMixture, table: Entries) -> tuple[Nearby, Index]:
    """The components of a mixture with independent columns near each row, and the number of entries of each."""
    real = table.real()
    n, k = real.shape[0], mixture.n_components
    order = np.lexsort(real.mask.T)
    arrays = (
        np.ascontiguousarray(real.values, float), np.ascontiguousarray(real.mask), order,
        np.ascontiguousarray(mixture.means.T), np.ascontiguousarray(1 / mixture.variances.T),
        np.ascontiguousarray(0.5 * np.log(2 * np.pi * mixture.variances.T)), np.log(mixture.shares),
    )  # fmt: skip
    found = in_room(n, k, lambda *to: screen_columns(*arrays, _range(k), *to))
    return _finished(found, order, np.zeros(n), real.row_counts), real.row_counts


def _range(n_components: int) -> float:
    """How many nats a component that counts may be below the best."""
    return float(np.log(n_components / NEGLIGIBLE))


def _finished(found: tuple[Index, Index, Real, Real], order: Index, known: Real, dimensions: Index) -> Nearby:
    """Rows in their own order, and densities with all constants."""
    begin, component, lead, distance = found
    counts = np.diff(begin)
    row = np.repeat(order, counts)
    again = np.argsort(row, kind="stable")
    row, distance = row[again], distance[again]
    density = lead[again] + known[row] + log_tails(distance, dimensions[row])
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(order)))])
    return Nearby(start, component[again], density, distance)
