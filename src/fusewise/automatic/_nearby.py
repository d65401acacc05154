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
left out have less than ``ALL_LEFT_OUT`` of the probability of a row, all together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fusewise.automatic._clusters import AxisMixture, Clusters
from fusewise.automatic._evidence import Evidence, regular
from fusewise.automatic._mixture import TAIL, Mixture, log_tails
from fusewise.automatic._tree import factor, solved_square
from fusewise.kernels import Index, Labels, Real, compiled
from fusewise.observations import InMemory


@compiled(shapes=("N r", "N", "N", "N", "U r r", "U r r", "K r", "K r r", "K", "K", "K", "", "M", "R", "R", "R"))
def screen_components(
    places: Any, pattern: Any, dimensions: Any, rows: Any, covariances: Any, roots: Any, means: Any, spreads: Any,
    shares: Any, least: Any, high: Any, span: float, begin: Any, component: Any, density: Any, distance: Any,
) -> int:  # fmt: skip
    """Find the components near each row; densities are without what does not depend on the component.

    Rows come in an order in which those with the same columns missing follow each other, so that what depends on these
    alone is computed once.
    """
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
            for k in range(k_all):
                ready[k] = False
                scales[k] = np.exp(-power * least[k])
                for j in range(r):
                    total = 0.0
                    for m in range(j + 1):
                        total += root[j, m] * means[k, m]
                    centres[j, k] = total
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
                factor(covariances[before], spreads[now], 1.0, factors[now])
                sizes[now] = 2 * np.log(np.diag(factors[now])).sum() - base
                ready[now] = True
            for j in range(r):
                place[j] = places[row, j] - means[now, j]
            square = solved_square(factors[now], place, work)
            lead = shares[now] - 0.5 * sizes[now]
            if k < 0:
                limit = (TAIL + square) * np.exp(power * (span - lead)) * (1 + 1e-9)
                continue
            if at < room:
                component[at], density[at], distance[at] = now, lead - 0.5 * base, square
            at += 1
        begin[i + 1] = at
    return at


#: Numbers of components from which densities are bounded before they are computed.
MANY = 64
#: Probability that all components that are left out have together, at most.
ALL_LEFT_OUT = 1e-4


class Nearby(NamedTuple):
    """The components near each row, and log pi_k + log p(x_i | k) of these.

    Entries for one row after another: the component, the log-density and the squared distance; and where those of each
    row begin, and the last one's end.
    """

    begin: Index
    component: Index
    density: Real
    distance: Real

    @classmethod
    def of(cls, n: int, row: Index, *entries: npt.NDArray[Any]) -> Nearby:
        """From entries of n rows in any order."""
        order = np.argsort(row, kind="stable")
        begin = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
        return cls(begin, *(each[order] for each in entries))

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
        return Nearby.of(len(self.begin) - 1, row[first], own[first], density, distance)

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
    """The clusters near each row of a table (on the scale of the fit), and the dimensions that each row determines.

    Distances are those of ``Clusters.component_densities``.
    """
    n, first, entries = table.shape[0], 0, []
    dimensions: Index | None = None
    for weight, part in zip(clusters.weights, clusters.parts, strict=True):
        if isinstance(part, AxisMixture) and part.categories is None:
            evidence = Evidence.of(part.subspace, table)
            found, own = near_components(part.mixture, evidence), evidence.dimensions
        else:
            densities, distances, own = part.log_densities(table)
            kept = densities >= densities.max(axis=1, keepdims=True) - _range(part.n_components)
            found = Nearby.of(n, *np.nonzero(kept), densities[kept], distances[kept])
        dimensions = own if dimensions is None else dimensions
        row, scale = found.row, np.maximum(dimensions, 1) / np.maximum(own, 1)
        entries.append((row, first + found.component, found.density + np.log(weight), found.distance * scale[row]))
        first += part.n_components
    assert dimensions is not None
    together = Nearby.of(n, *(np.concatenate(each) for each in zip(*entries, strict=True)))
    if first > clusters.n_components:
        return together.joined(clusters.group), dimensions
    return together._replace(component=clusters.group[together.component]), dimensions


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
    order = np.argsort(evidence.pattern, kind="stable")
    arrays = (
        np.ascontiguousarray(evidence.places.T), evidence.pattern, evidence.dimensions.astype(float), order,
        covariances, roots, np.ascontiguousarray(mixture.means), spreads, np.log(mixture.shares), least,
        np.maximum(sizes[:, -1], 1.0),
    )  # fmt: skip
    room, needed, begin = 0, 16 * n, np.zeros(n + 1, np.int64)
    while needed > room:  # larger arrays until they suffice
        room = min(max(needed, 2 * room), n * k)
        component, lead, distance = np.empty(room, np.int64), np.empty(room), np.empty(room)
        needed = int(screen_components(*arrays, _range(k), begin, component, lead, distance))
    row = np.repeat(order, np.diff(begin))
    component, lead, distance = component[:needed], lead[:needed], distance[:needed]
    known = evidence.heights + 0.5 * log_det[evidence.pattern]
    density = lead + known[row] + log_tails(distance, evidence.dimensions[row])
    return Nearby.of(n, row, component, density, distance)


def _range(n_components: int) -> float:
    """How many nats a component that counts may be below the best."""
    return float(np.log(n_components / ALL_LEFT_OUT))
