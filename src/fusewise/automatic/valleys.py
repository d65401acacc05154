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
better than the model's, l(1) > l(0), and a shallow one hardly better, max_b l(b) - l(1) < 1.

In up to ``MOST_DIMENSIONS`` dimensions rows show the shape of a group. There, a dense and a sparse component may be one
group with a tail, and components that are long and point to each other are likely to be pieces of one group: long axes
point to each other by chance with a probability of about exp(-`alignment`), so `ALIGNED` times that many nats are added
to l(1), but no more than log N, the price of a cut that was chosen among N; on a line, where all point to each other,
half of that is added. If there is a gap between groups (``parts_of``), components on either side of it are never
joined, and those on one side touch already at `WITHIN_PART`: curved groups bend between their components.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from fusewise.automatic.evidence import Evidence, regular
from fusewise.automatic.mixture import TAIL, Mixture
from fusewise.automatic.rows import MOST_DIMENSIONS
from fusewise.kernels import Floats, Index, Mask, Real

#: The density between two components, relative to the lower peak, from which they are one hump.
NO_VALLEY = 0.95
#: The same from which they touch: the halves of a uniform density, described by two bells, have 0.45 and those of a
#: Gaussian one 0.8; and for two components on one side of a gap.
TOUCHING, WITHIN_PART = 0.2, 0.05
#: Components are about equally dense if their peaks differ by at most this factor.
EQUALLY_DENSE = 3.0
#: How much the alignment of two components counts against a valley between them.
ALIGNED = 3.0
#: How much better, in nats, a shallow valley may explain the rows between two centres than none.
TOLERATED = 1.0
#: A row is well known along a direction if its variance there is at most this share of the pair's.
WELL_KNOWN = 0.1


def linked(n: int, pairs: list[tuple[int, int]]) -> Index:
    """Numbers 0, 1, ... that n components share if a chain of pairs links them."""
    joined = np.eye(n, dtype=bool)
    for pair in pairs:
        joined[pair] = True
    return np.asarray(connected_components(joined, directed=False)[1], np.intp)


def without_valley(
    mixture: Mixture, evidence: Evidence, labels: Index | None = None, parts: Index | None = None
) -> list[tuple[int, int]]:
    """Pairs of components without a valley between them, the highest saddle first.

    Parameters
    ----------
    mixture, evidence : the components, and the rows they were fitted to.
    labels : the most likely components of the rows, if they are known.
    parts : those of ``parts_of``.
    """
    if labels is None:
        labels = mixture.log_densities(evidence)[0].argmax(axis=1)
    peaks = np.log(mixture.shares) - 0.5 * np.linalg.slogdet(regular(mixture.spreads))[1]
    part = np.zeros(mixture.n_components)
    if parts is not None:
        known = parts >= 0
        part = in_parts(labels[known], parts[known], mixture.n_components).argmax(axis=1)
    touching = TOUCHING if parts is None else WITHIN_PART
    alike = np.inf if evidence.shape[1] <= MOST_DIMENSIONS else np.log(EQUALLY_DENSE)
    apart, found = separations(mixture), []
    for k in range(1, mixture.n_components):
        others = np.flatnonzero(may_touch(apart, peaks, k, touching) & (part[:k] == part[k]))
        heights = saddles(mixture, k, others)
        near = (heights >= touching) & (np.abs(peaks[others] - peaks[k]) <= alike)
        found += [
            (float(height), k, int(other))
            for height, other, close in zip(heights, others, near, strict=True)
            if height >= NO_VALLEY or (close and filled(mixture, evidence, labels, [k, int(other)]))
        ]
    return [(k, other) for _, k, other in sorted(found, reverse=True)]


def one_hump(mixture: Mixture) -> bool:
    """Whether two components have no valley between them, as a few wide strays about a cluster have none."""
    heights = (saddles(mixture, k, np.arange(k)).max() for k in range(1, mixture.n_components))
    return any(height >= NO_VALLEY for height in heights)


def in_parts(labels: Index, parts: Index, n: int) -> Index:
    """How many rows of each of n components are in each part."""
    counts = np.zeros((n, int(parts.max()) + 1), np.intp)
    np.add.at(counts, (labels, parts), 1)
    return np.asarray(counts, np.intp)


def filled(mixture: Mixture, evidence: Evidence, labels: Index, pair: list[int]) -> bool:
    """Whether the rows between the centres of two components show that there is no valley.

    Parameters
    ----------
    mixture, evidence, labels : the components, the rows, and the most likely component of each row.
    pair : the two components.
    """
    means, spreads, shares = mixture.means[pair], regular(mixture.spreads[pair]), mixture.shares[pair]
    shares = shares / shares.sum()
    within = np.einsum("k,krs->rs", shares, spreads)
    apart = means[1] - means[0]
    across = np.linalg.solve(within, apart)
    whole = within + shares.prod() * np.outer(apart, apart)
    coordinates = _known(evidence, np.flatnonzero(np.isin(labels, pair)), across, shares @ means, whole)
    begin, end = means @ across
    inside = coordinates[(coordinates > begin) & (coordinates < end)]
    places = begin + (end - begin) * np.linspace(0.0025, 0.9975, 200)
    widths = np.sqrt(np.einsum("r,krs,s->k", across, spreads, across))
    away = (places[:, None] - (begin, end)) / widths
    density = ((1 + away**2 / TAIL) ** (-(TAIL + 1) / 2) / widths) @ shares
    depths = np.linspace(0, 1, 11)
    valleys = np.maximum(density, depths[:, None] * brim(density))
    valleys /= valleys.mean(axis=1, keepdims=True)
    fits = np.array([np.interp(inside, places, np.log(valley)).sum() for valley in valleys])
    odds = _odds(apart, spreads, evidence)
    return bool(fits[0] - fits[-1] < odds and fits.max() - fits[-1] < TOLERATED + odds)


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
    share = np.linspace(0, 1, 33)[:, None, None]
    system = (1 - share[..., None]) * precisions[-1] + share[..., None] * precisions[:-1]
    places = np.linalg.solve(system, ((1 - share) * pulls[-1] + share * pulls[:-1])[..., None])[..., 0]

    def log_density(which: Index) -> Floats:
        away = places - means[which]
        distance = np.einsum("pkr,krs,pks->pk", away, precisions[which], away)
        return np.asarray(np.log(shares[which]) - 0.5 * (log_dets[which] + distance))

    height = np.logaddexp(log_density(np.full(len(others), len(others))), log_density(np.arange(len(others))))
    return np.asarray(np.exp(np.min(height - brim(height), axis=0)))
