"""Nearest neighbours of points whose place is uncertain.

A row seen in few entries has an uncertain place N(v_i, S_i) in a subspace. The expected H1 weight of a pair is then, up
to the factor 1/(2 sigma²),

    det(I + (S_i + S_j)/sigma²)^(-1/2) exp(-(v_i - v_j)' (sigma² I + S_i + S_j)^(-1) (v_i - v_j) / 2):

partial distances done right in a subspace. A place nobody knows is near to nobody.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from fusewise.observations.entries import Real
from fusewise.pairs.neighbors import NeighborPairs

#: Up to so many points every pair is weighed; beyond, the nearest by place alone are weighed again.
EXHAUSTIVE = 1500

#: How many candidates by place alone, in units of the neighbours wanted.
CANDIDATES = 3


def nearest_expected(places: Real, covariances: Real, n_neighbors: int) -> NeighborPairs:
    """Join each point with the `n_neighbors` of largest expected weight, at the scale of the nearest neighbours.

    Parameters
    ----------
    places : N x r, the v_i, real.
    covariances : N x r x r, the S_i.
    n_neighbors : how many; the graph is made symmetric, so some points have more.
    """
    n = len(places)
    k = min(n_neighbors, n - 1)
    search = NearestNeighbors(n_neighbors=min(n - 1, CANDIDATES * k)).fit(places)
    distances, candidates = search.kneighbors()
    scale = float(np.median(distances[:, k - 1])) or float(np.sqrt(places.var())) or 1.0
    if n <= EXHAUSTIVE:
        candidates = np.broadcast_to(np.arange(n), (n, n))
    weights = _log_expected_weights(places, covariances, candidates, scale**2)
    chosen = np.argpartition(-weights, k - 1, axis=1)[:, :k]
    ends = np.repeat(np.arange(n), k), np.take_along_axis(candidates, chosen, axis=1).ravel()
    return NeighborPairs.from_graph(sparse.csr_matrix((np.ones(n * k), ends), shape=(n, n)))


@numba.njit(cache=True, parallel=True)
def _log_expected_weights(places: Any, covariances: Any, candidates: Any, variance: float) -> Any:
    """log of the expected weight of each point with each of its candidates; -inf with itself."""
    n, r = places.shape
    weights = np.empty(candidates.shape)
    for i in numba.prange(n):
        factor = np.empty((r, r))
        solved = np.empty(r)
        for c in range(candidates.shape[1]):
            j = candidates[i, c]
            log_det, square = 0.0, 0.0
            for a in range(r):
                for b in range(a + 1):
                    s = covariances[i, a, b] + covariances[j, a, b]
                    if a == b:
                        s += variance
                    for k in range(b):
                        s -= factor[a, k] * factor[b, k]
                    factor[a, b] = np.sqrt(s) if a == b else s / factor[b, b]
                log_det += 2 * np.log(factor[a, a]) - np.log(variance)
                s = places[i, a] - places[j, a]
                for k in range(a):
                    s -= factor[a, k] * solved[k]
                solved[a] = s / factor[a, a]
                square += solved[a] ** 2
            weights[i, c] = -np.inf if i == j else -0.5 * (log_det + square)
    return weights
