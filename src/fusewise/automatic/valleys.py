"""Which components of a mixture are one cluster: those with no valley of low density between them.

A skewed or curved group takes several components to describe, though it is one hump. The modes of two Gaussian
components, and the lowest way between them, lie on their ridgeline (Ray and Lindsay, 2005),

    v(a) = ((1 - a) S_1^-1 + a S_2^-1)^-1 ((1 - a) S_1^-1 mu_1 + a S_2^-1 mu_2),   0 <= a <= 1,

whatever the dimension. The components are joined if the density of the two, followed along it, nowhere falls below
``NO_VALLEY`` of the lower of the two peaks on either side. Spreads are those of the coordinates themselves, the
uncertainty of incomplete rows taken out by the fit, so that missing values do not fill a valley.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from fusewise.automatic.evidence import regular
from fusewise.automatic.mixture import Mixture
from fusewise.kernels.types import Floats, Index

#: The density between two components, relative to the lower peak, from which they are one hump.
NO_VALLEY = 0.95

#: Points of a ridgeline that are looked at.
POINTS = 33


def humps(mixture: Mixture) -> Index:
    """The hump of each component, 0, 1, ...: components without a valley between them share one."""
    joined = np.eye(mixture.n_components, dtype=bool)
    for pair in without_valley(mixture):
        joined[pair] = True
    return np.asarray(connected_components(joined, directed=False)[1], np.intp)


def without_valley(mixture: Mixture) -> list[tuple[int, int]]:
    """Pairs of components without a valley between them, the highest saddle first."""
    found = []
    for k in range(1, mixture.n_components):
        found += [(height, k, other) for other, height in enumerate(saddles(mixture, k, np.arange(k)))]
    return [(k, other) for height, k, other in sorted(found, reverse=True) if height >= NO_VALLEY]


def saddles(mixture: Mixture, k: int, others: Index) -> Floats:
    """The lowest density on the ridgeline between component k and each of some others, relative to the lower peak."""
    spreads = regular(mixture.spreads)
    precisions, log_dets = np.linalg.inv(spreads), np.linalg.slogdet(spreads)[1]
    pulls = np.einsum("krs,ks->kr", precisions, mixture.means)
    share = np.linspace(0, 1, POINTS)[:, None, None]
    system = (1 - share[..., None]) * precisions[k] + share[..., None] * precisions[others]
    places = np.linalg.solve(system, ((1 - share) * pulls[k] + share * pulls[others])[..., None])[..., 0]

    def log_density(components: Index) -> Floats:
        away = places - mixture.means[components]
        distance = np.einsum("pkr,krs,pks->pk", away, precisions[components], away)
        return np.asarray(np.log(mixture.shares[components]) - 0.5 * (log_dets[components] + distance))

    height = np.logaddexp(log_density(np.full(len(others), k)), log_density(others))
    left, right = np.maximum.accumulate(height), np.maximum.accumulate(height[::-1])[::-1]
    return np.asarray(np.exp(np.min(height - np.minimum(left, right), axis=0)))
