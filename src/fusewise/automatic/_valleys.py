"""Which components of a mixture are one cluster: those with no valley of low density between them.

A skewed or curved group takes several components to describe, though it is one hump. The modes of two Gaussian
components, and the lowest way between them, lie on their ridgeline (Ray and Lindsay, 2005),

    v(a) = ((1 - a) S_1^-1 + a S_2^-1)^-1 ((1 - a) S_1^-1 mu_1 + a S_2^-1 mu_2),   0 <= a <= 1,

whatever the dimension. The components are joined if the density of the two, followed along it, nowhere falls below
`NO_VALLEY` of the lower of the two peaks on either side. Spreads are those of the coordinates themselves, the
uncertainty of incomplete rows taken out by the fit, so that missing values do not fill a valley.

A valley may also be the model's alone: a long flat group cut in two is described by two bells, with a valley at the
cut that its rows do not have. So where two components touch (`TOUCHING`) and are about equally dense, the rows between
their centres decide. Along the discriminant w = W^-1 (mu_2 - mu_1), with W the mean spread, the pair has the density
f(u) = sum_k pi_k t_nu, and f_b = max(f, b g) / c_b is the same with its valley filled up to the share b of its brim g.
With l(b) = sum_i log f_b(u_i) over the rows between the centres, there is no valley if the filled one explains the rows
better than the model's, l(1) > l(0).

In up to ``MOST_DIMENSIONS`` dimensions rows show the shape of a group. There, a dense and a sparse component may be one
group with a tail, and components that are long and point to each other are likely to be pieces of one group: long axes
point to each other by chance with a probability of about exp(-`alignment`), so `ALIGNED` times that many nats are added
to l(1), but no more than log N, the price of a cut that was chosen among N; on a line, where all point to each other,
half of that is added. If there is a gap between groups (``parts_of``), components on either side of it are never
joined, and those on one side touch already at `WITHIN_PART`: curved groups bend between their components.

There, the valleys of a table are also judged together (``settled``): a cut through one group is made where its rows are
scarce by chance, and of many cuts some are; while many shallow valleys, none of which is certain, are not all due to
chance. The rows' evidence for a valley between two components is E = max_b l(b) - l(1) >= 0; for clusters of several
components it is the least of all pairs, and for a set of clusters the smallest sum over a spanning tree. Valleys that
chance has made have a depth each, which cannot be negative, so 2 E of q valleys is about chi-bar-squared, and chance
explains in 95% of cases E <= x(q), sum_k C(q, k) 2^-q P(chi2_k > 2 x(q)) = 0.05.

* The valleys between the clusters of a table, or of a part of it with a gap around it, have to be shown, E > x(q), and
  to be worth the place that was chosen for a cut among N rows, E > (log N) / 2, or its clusters are one. If long
  components that point to each other were joined, what the mixture has gained by such pieces says nothing about a
  valley: the odds of those joins are a price too, E > min(sum of odds, log N). Rows whose coordinates are not known
  show nothing, and valleys among them are left.
* The q joins of a cluster in r dimensions are undone if the rows reject them together: if E exceeds what q depths and
  the r - 1 angles of a direction explain, 1/2 chi2_{q + r - 1}(0.95). Not on a line, where any two components point to
  each other and so are joined by their odds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.stats import binom, chi2

from fusewise.automatic._cuts import MOST_CLUSTERS
from fusewise.automatic._evidence import Evidence, regular
from fusewise.automatic._mixture import TAIL, Mixture
from fusewise.automatic._rows import CHANCE, MOST_DIMENSIONS, WELL_KNOWN
from fusewise.kernels import Floats, Index, Mask, Real

#: How much the alignment of two components counts against a valley between them.
ALIGNED = 3.0
#: Points of a density that are looked at, and depths of a valley.
POINTS, DEPTHS = 198, 11


class Valley(NamedTuple):
    """What the rows between two centres say, in nats over a filled valley.

    Attributes
    ----------
    own : l(0) - l(1), how much better the valley of the model explains the rows.
    best : max_b l(b) - l(1) >= 0, the same for a valley as deep as they show.
    odds : in favour of no valley, before the rows are looked at.
    known : the share of the rows of both components that are well known along the discriminant, and so are looked at.
    """

    own: float
    best: float
    odds: float
    known: float = 1.0

    @property
    def shown(self) -> float:
        """The evidence for a valley, without limit if too few rows are known to speak against it."""
        return self.best if self.known >= ENOUGH_KNOWN else float(np.inf)

    @property
    def filled(self) -> bool:
        """Whether the rows show that there is no valley."""
        return self.own < self.odds


class Between:
    """The valleys between the components of a mixture as the rows, with their `labels`, show them, each seen once."""

    def __init__(self, mixture: Mixture, evidence: Evidence, labels: Index) -> None:
        self.mixture, self.evidence, self.labels = mixture, evidence, labels
        self._seen: dict[tuple[int, int], Valley] = {}

    def __call__(self, one: int, other: int) -> Valley:
        """The valley between two components."""
        pair = max(one, other), min(one, other)
        if pair not in self._seen:
            self._seen[pair] = self._look(list(pair))
        return self._seen[pair]

    def _look(self, both: list[int]) -> Valley:
        mixture, evidence = self.mixture, self.evidence
        means, spreads, shares = mixture.means[both], regular(mixture.spreads[both]), mixture.shares[both]
        shares = shares / shares.sum()
        within = np.einsum("k,krs->rs", shares, spreads)
        apart = means[1] - means[0]
        across = np.linalg.solve(within, apart)
        whole = within + shares.prod() * np.outer(apart, apart)
        rows = np.flatnonzero(np.isin(self.labels, both))
        coordinates = _known(evidence, rows, across, shares @ means, whole)
        begin, end = means @ across
        inside = coordinates[(coordinates > begin) & (coordinates < end)]
        places = begin + (end - begin) * (np.arange(POINTS) + 0.5) / POINTS
        widths = np.sqrt(np.einsum("r,krs,s->k", across, spreads, across))
        away = (places[:, None] - (begin, end)) / widths
        density = ((1 + away**2 / TAIL) ** (-(TAIL + 1) / 2) / widths) @ shares
        valleys = np.maximum(density, np.linspace(0, 1, DEPTHS)[:, None] * brim(density))
        valleys /= valleys.mean(axis=1, keepdims=True)
        fits = np.array([np.interp(inside, places, np.log(valley)).sum() for valley in valleys])
        own, best = float(fits[0] - fits[-1]), float(fits.max() - fits[-1])
        return Valley(own, best, _odds(apart, spreads, evidence), len(coordinates) / max(len(rows), 1))


def _odds(apart: Real, spreads: Real, evidence: Evidence) -> float:
    """Nats in favour of no valley, before the rows are looked at."""
    n, r = evidence.shape
    cut = float(np.log(n))
    if r == 1:
        return cut / 2
    return min(ALIGNED * alignment(apart, spreads), cut) if r <= MOST_DIMENSIONS else 0.0


def alignment(apart: Real, spreads: Real) -> float:
    """(r - 1) sum_k log max(a_k, 1) for two components: how unlikely it is that they point to each other by chance.

    a_k is the standard deviation of component k towards the other, over that across.
    """
    r = len(apart)
    towards = np.einsum("r,krs,s->k", apart, spreads, apart) / max(float(apart @ apart), 1e-300)
    across = (np.trace(spreads, axis1=1, axis2=2) - towards) / max(r - 1, 1)
    return float(0.5 * (r - 1) * np.log(np.maximum(towards / np.maximum(across, 1e-300), 1)).sum())


def brim(height: Floats) -> Floats:
    """The lower of the highest points on either side, along the first axis: the level to which water would stand."""
    left, right = np.maximum.accumulate(height), np.maximum.accumulate(height[::-1])[::-1]
    return np.asarray(np.minimum(left, right))


def _known(evidence: Evidence, rows: Index, across: Real, mean: Real, spread: Real) -> Floats:
    """w'v of those rows that are well known along w; the others' v ~ N(mean, spread) would decide for them."""
    one = Mixture(mean[None], spread[None], np.ones(1), "full", 0.0, 0.0)
    groups = evidence.grouped(np.zeros(len(rows), np.intp), 1, rows)
    marginal = groups.marginal(one.spreads)
    turned = marginal.factor[:, :, 0].T @ across
    variance = np.einsum("r,rsu,s->u", turned, marginal.inverse, turned)[groups.evidence.pattern]
    return np.asarray((one.conditional(groups) @ across)[variance <= WELL_KNOWN * (across @ spread @ across)])


#: Share of the rows of two components that have to be known for the rows to show that there is no valley.
ENOUGH_KNOWN = 0.25

Pair = tuple[int, int]


def by_chance(valleys: int) -> float:
    """x(q), the evidence for q valleys that chance exceeds with the probability `CHANCE`."""
    k = np.arange(1, valleys + 1)
    weights = binom.pmf(k, valleys, 0.5)
    return 0.5 * float(brentq(lambda twice: float(weights @ chi2.sf(twice, k)) - CHANCE, 0, chi2.isf(CHANCE, valleys)))


def settled(between: Between, pairs: list[Pair], group: Index, part: Index) -> list[Pair]:
    """The pairs of components to join, after those of each cluster and each part have been judged together.

    Given are the `pairs` without a valley, each judged by itself, the clusters that they link (`group`), and the `part`
    of each component (``parts_of``).
    """
    n, r = between.evidence.shape
    alone, now, odds = len(group), group.copy(), np.zeros(int(part.max()) + 1)
    for cluster in range(int(group.max()) + 1):
        inside = np.flatnonzero(group == cluster)
        evidence = np.full((len(group), len(group)), np.inf)
        for pair in pairs:
            if group[pair[0]] == cluster:
                evidence[pair] = between(*pair).best
        joins, total = easiest(evidence)
        if joins and r > 1 and total > 0.5 * float(chi2.isf(CHANCE, len(joins) + r - 1)):
            now[inside] = alone + inside
        else:
            odds[part[inside[0]]] += sum(between(*join).odds for join in joins)
    kept = [(k, other) for k, other in pairs if now[k] == now[other]]
    for each in np.unique(part):
        clusters = [np.flatnonzero((now == cluster) & (part == each)) for cluster in np.unique(now[part == each])]
        if len(clusters) > 1:
            cut = float(np.log(n))
            price = max(by_chance(len(clusters) - 1), 0.5 * cut, min(float(odds[each]), cut))
            kept += not_shown(between, clusters, price)
    return kept


def not_shown(between: Between, clusters: list[Index], price: float) -> list[Pair]:
    """Pairs that link all clusters, if the rows' evidence for the valleys between them is at most `price`; else none.

    The least evidence of a cluster is that of an edge of the spanning tree, and an edge has two ends, so half the sum
    over some clusters is a lower bound: where valleys are deep, few clusters are looked at.
    """
    m = len(clusters)
    evidence, at = np.full((m, m), np.inf), {}
    bound = 0.0
    for a in range(m):
        for b in range(a + 1, m):
            found = min((between(k, other).shown, (int(k), int(other))) for k in clusters[a] for other in clusters[b])
            evidence[a, b] = evidence[b, a] = found[0]
            at[a, b] = found[1]
        bound += evidence[a].min() / 2
        if bound > price:
            return []
    edges, total = easiest(evidence)
    shown = len(edges) < m - 1 or total > price
    return [] if shown else [at[min(edge), max(edge)] for edge in edges]


def easiest(evidence: Real) -> tuple[list[Pair], float]:
    """The edges of the spanning tree with the least evidence, and their sum; infinite entries are no edges."""
    tree = minimum_spanning_tree(np.where(np.isfinite(evidence), 1 + evidence, 0)).tocoo()  # 0 stands for no edge
    return list(zip(tree.row.tolist(), tree.col.tolist(), strict=True)), float((tree.data - 1).sum())


#: The density between two components, relative to the lower peak, from which they are one hump.
NO_VALLEY = 0.95
#: The same from which they touch: the halves of a uniform density, described by two bells, have 0.45 and those of a
#: Gaussian one 0.8.
TOUCHING = 0.2
#: The same for two components on one side of a gap.
WITHIN_PART = 0.05
#: Components are about equally dense if their peaks differ by at most this factor.
EQUALLY_DENSE = 3.0
#: Points of a ridgeline that are looked at.
RIDGE_POINTS = 33


def linked(n: int, pairs: list[tuple[int, int]]) -> Index:
    """Numbers 0, 1, ... that n components share if a chain of pairs links them."""
    joined = np.eye(n, dtype=bool)
    for pair in pairs:
        joined[pair] = True
    return np.asarray(connected_components(joined, directed=False)[1], np.intp)


def without_valley(
    mixture: Mixture,
    evidence: Evidence,
    labels: Index | None = None,
    parts: Index | None = None,
) -> list[tuple[int, int]]:
    """Pairs of components without a valley between them, the highest saddle first, then those that no row shows."""
    if labels is None:
        labels = mixture.log_densities(evidence)[0].argmax(axis=1)
    peaks = np.log(mixture.shares) - 0.5 * np.linalg.slogdet(regular(mixture.spreads))[1]
    n, apart = mixture.n_components, separations(mixture)
    part = np.zeros(n, np.intp) if parts is None else in_parts(labels, parts, n).argmax(axis=1)
    few = evidence.shape[1] <= MOST_DIMENSIONS
    touching = TOUCHING if parts is None else WITHIN_PART
    alike = np.inf if few else np.log(EQUALLY_DENSE)
    between, found = Between(mixture, evidence, labels), []
    for k in range(1, n):
        others = np.flatnonzero(may_touch(apart, peaks, k, touching) & (part[:k] == part[k]))
        heights = saddles(mixture, k, others)
        near = (heights >= touching) & (np.abs(peaks[others] - peaks[k]) <= alike)
        found += [
            (float(height), k, int(other))
            for height, other, close in zip(heights, others, near, strict=True)
            if height >= NO_VALLEY or (close and between(k, int(other)).filled)
        ]
    pairs = [(k, other) for _, k, other in sorted(found, reverse=True)]
    if not few or n > MOST_CLUSTERS:  # a group that is cut takes fewer
        return pairs
    return settled(between, pairs, linked(n, pairs), part)


def one_hump(mixture: Mixture) -> bool:
    """Whether two components have no valley between them, as a few wide strays about a cluster have none."""
    heights = (saddles(mixture, k, np.arange(k)).max() for k in range(1, mixture.n_components))
    return any(height >= NO_VALLEY for height in heights)


def in_parts(labels: Index, parts: Index, n: int) -> Index:
    """How many well-known rows of each of n components are in each part."""
    counts, known = np.zeros((n, int(parts.max()) + 1), np.intp), parts >= 0
    np.add.at(counts, (labels[known], parts[known]), 1)
    return counts


def separations(mixture: Mixture) -> tuple[Real, Real]:
    """Means in coordinates where the mean spread is I, K x r, and the largest spread of each component there, K."""
    spreads = regular(mixture.spreads)
    undone = np.linalg.inv(np.linalg.cholesky(np.einsum("k,kij->ij", mixture.shares, spreads)))
    return mixture.means @ undone.T, np.linalg.eigvalsh(undone @ spreads @ undone.T)[:, -1]


def may_touch(separations: tuple[Real, Real], peaks: Real, k: int, touching: float) -> Mask:
    """Which of the components before k may have a saddle of at least `touching` towards k.

    On the way between two centres that are g apart in a metric that bounds both spreads, s, there is a point at
    distance g / 2 from either, where the density of each is at most its peak times exp(-g² / 8 s).
    """
    means, largest = separations
    squares = np.square(means[:k] - means[k]).sum(axis=1) / np.maximum(largest[:k], largest[k])
    lowest = max(min(touching, NO_VALLEY), 1e-300)
    return np.asarray(squares / 8 <= np.log(2 / lowest) + np.abs(peaks[:k] - peaks[k]))


def saddles(mixture: Mixture, k: int, others: Index) -> Floats:
    """The lowest density on the ridgeline between component k and each of some others, relative to the lower peak."""
    both = np.append(others, k)
    means, shares, spreads = mixture.means[both], mixture.shares[both], regular(mixture.spreads[both])
    precisions, log_dets = np.linalg.inv(spreads), np.linalg.slogdet(spreads)[1]
    pulls = np.einsum("krs,ks->kr", precisions, means)
    share = np.linspace(0, 1, RIDGE_POINTS)[:, None, None]
    system = (1 - share[..., None]) * precisions[-1] + share[..., None] * precisions[:-1]
    places = np.linalg.solve(system, ((1 - share) * pulls[-1] + share * pulls[:-1])[..., None])[..., 0]

    def log_density(which: Index) -> Floats:
        away = places - means[which]
        distance = np.einsum("pkr,krs,pks->pk", away, precisions[which], away)
        return np.asarray(np.log(shares[which]) - 0.5 * (log_dets[which] + distance))

    height = np.logaddexp(log_density(np.full(len(others), len(others))), log_density(np.arange(len(others))))
    return np.asarray(np.exp(np.min(height - brim(height), axis=0)))
