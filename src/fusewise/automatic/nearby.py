"""Loops over rows and components that keep, of each row, the components whose density is not negligible.

The bounds that they compare are derived in ``nearby``. Each loop takes rows in an order in which those with the same
columns missing follow each other, so that what depends on these alone is computed once.

Which of many components may have given a row: all whose density is not negligible beside the best one's.

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

from typing import Any, NamedTuple

import numpy as np

from fusewise.automatic.clusters import AlongAxes, Beside, Clusters, Joined
from fusewise.automatic.columns import ColumnMixture
from fusewise.automatic.evidence import Evidence, regular
from fusewise.automatic.mixture import Mixture, log_tails
from fusewise.automatic.mixture_kernels import TAIL
from fusewise.kernels import Index, Labels, Real, compiled
from fusewise.observations import Entries, InMemory


def in_room(n: int, k: int, fill: Any) -> tuple[Index, Index, Real, Real]:
    """Call a loop with arrays for what it finds, larger ones until they suffice."""
    room = 16 * n
    while True:
        begin = np.zeros(n + 1, np.int64)
        component, density, distance = np.empty(room, np.int64), np.empty(room), np.empty(room)
        needed = int(fill(begin, component, density, distance))
        if needed <= room:
            return begin, component[:needed], density[:needed], distance[:needed]
        room = min(max(needed, 2 * room), n * k)


@compiled
def _whiten(root: Any, means: Any, whitened: Any) -> None:
    """The products of a lower triangular matrix with K vectors (K x r), as columns of r x K."""
    for k in range(len(means)):
        for j in range(len(root)):
            total = 0.0
            for m in range(j + 1):
                total += root[j, m] * means[k, m]
            whitened[j, k] = total


@compiled(shapes=("N r", "N", "N", "N", "U r r", "U r r", "K r", "K r r", "K", "K", "K", "", "M", "R", "R", "R"))
def screen_components(
    places: Any, pattern: Any, dimensions: Any, rows: Any, covariances: Any, roots: Any, means: Any, spreads: Any,
    shares: Any, least: Any, high: Any, span: float, begin: Any, component: Any, density: Any, distance: Any,
) -> int:  # fmt: skip
    """Find the components near each row; densities are without what does not depend on the component."""
    (n, r), k_all, room, at = places.shape, len(means), len(component), 0
    centres, bounds, scales = np.empty((r, k_all)), np.empty(k_all), np.empty(k_all)
    factors, sizes, ready = np.empty((k_all, r, r)), np.empty(k_all), np.zeros(k_all, np.bool_)
    place, work, before, power, base = np.empty(r), np.empty(r), -1, 0.0, 0.0
    for i in range(n):
        row = rows[i]
        if pattern[row] != before:
            before = pattern[row]
            root = roots[before]
            power, base = 2 / (TAIL + dimensions[row]), 0.0
            for j in range(r):
                base -= 2 * np.log(root[j, j])  # log det (W + C)
            _whiten(root, means, centres)
            for k in range(k_all):
                ready[k] = False
                scales[k] = np.exp(-power * least[k])
        for k in range(k_all):
            bounds[k] = 0.0
        for j in range(r):
            total, of_all = 0.0, centres[j]
            for m in range(j + 1):
                total += root[j, m] * places[row, m]
            for k in range(k_all):
                away = of_all[k] - total
                bounds[k] += away * away
        nearest, lowest = 0, np.inf
        for k in range(k_all):
            bounds[k] = (TAIL + bounds[k] / high[k]) * scales[k]
            if bounds[k] < lowest:
                nearest, lowest = k, bounds[k]
        for k in range(-1, k_all):
            if k < 0:
                now, limit = nearest, np.inf
            elif bounds[k] > limit:
                continue
            else:
                now = k
            if not ready[now]:
                sizes[now] = _factorise(covariances[before], spreads[now], factors[now]) - base
                ready[now] = True
            for j in range(r):
                place[j] = places[row, j] - means[now, j]
            square = _solved_square(factors[now], place, work)
            lead = shares[now] - 0.5 * sizes[now]
            if k < 0:
                limit = (TAIL + square) * np.exp(power * (span - lead)) * (1 + 1e-9)
                continue
            if at < room:
                component[at], density[at], distance[at] = now, lead - 0.5 * base, square
            at += 1
        begin[i + 1] = at
    return at


@compiled(shapes=("N P", "N P", "N", "P K", "P K", "P K", "K", "", "M", "R", "R", "R"))
def screen_columns(
    values: Any, mask: Any, rows: Any, means: Any, precisions: Any, halves: Any, shares: Any, span: float,
    begin: Any, component: Any, density: Any, distance: Any,
) -> int:  # fmt: skip
    """The same for independent columns, where the densities themselves are as quick as bounds."""
    (n, p), k_all, room, at = values.shape, len(shares), len(component), 0
    squares, scales, leads = np.empty(k_all), np.empty(k_all), np.empty(k_all)
    power, before = 0.0, -1
    for i in range(n):
        row = rows[i]
        same = before >= 0
        for j in range(p):
            same = same and mask[row, j] == mask[before, j]
        if not same:
            seen = 0
            for k in range(k_all):
                leads[k] = shares[k]
            for j in range(p):
                if mask[row, j]:
                    seen += 1
                    for k in range(k_all):
                        leads[k] -= halves[j, k]
            power = 2 / (TAIL + seen)
            for k in range(k_all):
                scales[k] = np.exp(power * (leads[0] - leads[k]))
        before = row
        for k in range(k_all):
            squares[k] = 0.0
        for j in range(p):
            if mask[row, j]:
                value, of_all, weights = values[row, j], means[j], precisions[j]
                for k in range(k_all):
                    away = of_all[k] - value
                    squares[k] += away * away * weights[k]
        lowest = np.inf
        for k in range(k_all):
            lowest = min(lowest, (TAIL + squares[k]) * scales[k])
        limit = lowest * np.exp(power * span) * (1 + 1e-9)
        for k in range(k_all):
            if (TAIL + squares[k]) * scales[k] <= limit:
                if at < room:
                    component[at], density[at], distance[at] = k, leads[k], squares[k]
                at += 1
        begin[i + 1] = at
    return at


@compiled
def _factorise(covariance: Any, spread: Any, lower: Any) -> float:
    """Cholesky factor of the sum of two matrices; returns the log-determinant."""
    log_det = 0.0
    for i in range(len(spread)):
        for j in range(i + 1):
            s = covariance[i, j] + spread[i, j]
            for k in range(j):
                s -= lower[i, k] * lower[j, k]
            lower[i, j] = np.sqrt(max(s, 1e-300)) if i == j else s / lower[j, j]
        log_det += 2 * np.log(lower[i, i])
    return log_det


@compiled
def _solved_square(lower: Any, right: Any, solved: Any) -> float:
    """|L^-1 x|²."""
    square = 0.0
    for i in range(len(right)):
        s = right[i]
        for k in range(i):
            s -= lower[i, k] * solved[k]
        solved[i] = s / lower[i, i]
        square += solved[i] * solved[i]
    return square


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
