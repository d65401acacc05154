"""Which components of a mixture are one cluster: those with no valley of low density between them.

A skewed or curved group takes several components to describe, though it is one hump. The modes of two Gaussian
components, and the lowest way between them, lie on their ridgeline (Ray and Lindsay, 2005),

    v(a) = ((1 - a) S_1^-1 + a S_2^-1)^-1 ((1 - a) S_1^-1 mu_1 + a S_2^-1 mu_2),   0 <= a <= 1,

whatever the dimension. The components are joined if the density of the two, followed along it, nowhere falls below
``NO_VALLEY`` of the lower of the two peaks on either side. Spreads are those of the coordinates themselves, the
uncertainty of incomplete rows taken out by the fit, so that missing values do not fill a valley.

A valley may also be the model's alone: a long flat group cut in two is described by two bells, with a valley at the
cut that its rows do not have. So where two components touch (``CONTIGUOUS``) and are about equally dense, the rows
between their centres decide (``between``). A dense and a sparse component are two clusters: they differ in more than
their place.

In up to ``gaps.MOST_DIMENSIONS`` dimensions, where rows show the shape of a group, dense and sparse components may be
one group with a tail, and all valleys of a table are then judged together (``together``). If there is a gap between
groups (``gaps.parts``), components on either side of it are never joined, and those on one side touch already at
``WITHIN_PART``: curved groups bend between their components.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from fusewise.automatic.coordinates.evidence import Evidence, regular
from fusewise.automatic.coordinates.gaps import MOST_DIMENSIONS
from fusewise.automatic.judging.between import Between, brim
from fusewise.automatic.judging.together import settled
from fusewise.automatic.models.mixture import Mixture
from fusewise.kernels.types import Floats, Index, Mask, Real

#: The density between two components, relative to the lower peak, from which they are one hump; and from which they
#: touch. The halves of a uniform density, described by two bells, have 0.45 and those of a Gaussian one 0.8.
NO_VALLEY, CONTIGUOUS = 0.95, 0.2
#: The same for two components on one side of a gap.
WITHIN_PART = 0.05
#: Components are about equally dense if their peaks differ by at most this factor.
EQUALLY_DENSE = 3.0
#: Points of a ridgeline that are looked at.
RIDGE_POINTS = 33
#: With more components, each pair is judged by itself: a group that is cut takes fewer.
MOST_COMPONENTS = 25


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
    *,
    of_any_density: bool = False,
) -> list[tuple[int, int]]:
    """Pairs of components without a valley between them, the highest saddle first, then those that no row shows.

    Parameters
    ----------
    mixture, evidence : the components, and the rows they were fitted to.
    labels : the most likely components of the rows, if they are known.
    parts : those of ``gaps.parts``.
    of_any_density : whether dense and sparse components may be one group in any number of dimensions.
    """
    if labels is None:
        labels = mixture.log_densities(evidence)[0].argmax(axis=1)
    peaks = np.log(mixture.shares) - 0.5 * np.linalg.slogdet(regular(mixture.spreads))[1]
    apart, part = separations(mixture), _part_of_each(labels, parts, mixture.n_components)
    few = of_any_density or evidence.shape[1] <= MOST_DIMENSIONS
    touching = CONTIGUOUS if parts is None else WITHIN_PART
    alike = np.inf if few else np.log(EQUALLY_DENSE)
    between, found = Between(mixture, evidence, labels), []
    for k in range(1, mixture.n_components):
        others = np.flatnonzero(may_touch(apart, peaks, k, touching) & (part[:k] == part[k]))
        heights = saddles(mixture, k, others)
        near = (heights >= touching) & (np.abs(peaks[others] - peaks[k]) <= alike)
        found += [
            (float(height), k, int(other))
            for height, other, close in zip(heights, others, near, strict=True)
            if height >= NO_VALLEY or (close and between(k, int(other)).filled)
        ]
    pairs = [(k, other) for _, k, other in sorted(found, reverse=True)]
    if not few or mixture.n_components > MOST_COMPONENTS:
        return pairs
    return settled(between, pairs, linked(mixture.n_components, pairs), part)


def _part_of_each(labels: Index, parts: Index | None, n: int) -> Index:
    """The part in which most well-known rows of each of n components are; the same for all without `parts`."""
    if parts is None:
        return np.zeros(n, np.intp)
    known = parts >= 0
    return np.asarray(in_parts(labels[known], parts[known], n).argmax(axis=1), np.intp)


def in_parts(labels: Index, parts: Index, n: int) -> Index:
    """How many rows of each of n components are in each part."""
    counts = np.zeros((n, int(parts.max()) + 1), np.intp)
    np.add.at(counts, (labels, parts), 1)
    return np.asarray(counts, np.intp)


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
