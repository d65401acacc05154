"""Nearest neighbours of points with uncertain positions.

A row with few observed entries has an uncertain position N(v_i, S_i) in a subspace. The expected H1 weight of a pair is
then, up to the factor 1/(2 sigma²),

    det(I + (S_i + S_j)/sigma²)^(-1/2) exp(-(v_i - v_j)' (sigma² I + S_i + S_j)^(-1) (v_i - v_j) / 2):

the counterpart of partial distances in a subspace. A point with an unknown position is far from all others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from fusewise.kernels.arrays import Array, to_host
from fusewise.kernels.compiling import SMALL, compiled
from fusewise.kernels.devices import torch_device
from fusewise.kernels.lanes import LANES, factorise, inverse_roots
from fusewise.kernels.threads import in_threads
from fusewise.kernels.types import Index, Real
from fusewise.pairs.near_places import nearest_places
from fusewise.pairs.neighbors import NeighborPairs

#: Up to this many points the weight of every pair is computed; beyond, only of the nearest by position.
EXHAUSTIVE = 1500

#: Number of candidates by position, in units of the number of neighbours.
CANDIDATES = 3

#: Largest number of points at which distances to the nearest neighbours are measured.
SAMPLE = 5000

#: Points processed at a time on each thread.
BLOCK = 1024


def nearest_expected(places: Array, covariances: Array, n_neighbors: int, device: str = "cpu") -> NeighborPairs:
    """Join each point to the `n_neighbors` with the largest expected weight, at the scale of the nearest neighbours.

    Parameters
    ----------
    places : N x r, the v_i, real; NumPy arrays, or tensors on the device.
    covariances : N x r x r, the S_i.
    n_neighbors : number of neighbours; the graph is made symmetric, so some points have more.
    device : where to search if there are many points.
    """
    n = len(places)
    k = min(n_neighbors, n - 1)
    if n > EXHAUSTIVE and torch_device(device) is not None:
        from fusewise.pairs.device_expected import likeliest

        found = likeliest(places, covariances, k, min(n - 1, CANDIDATES * k), 1 + n // SAMPLE, device)
        return NeighborPairs.from_neighbors(found, device=device)
    places, covariances = to_host(places), to_host(covariances)
    tree = cKDTree(places)
    variance = _spacing(tree, k + 1) ** 2
    nearest = nearest_places(places, tree)
    neighbors = np.empty((n, k), np.intp)

    def choose(rows: Index) -> None:
        if n <= EXHAUSTIVE:
            candidates = np.broadcast_to(np.arange(n), (len(rows), n))
        else:
            candidates = nearest(places[rows], min(n, CANDIDATES * k + 1))
            candidates = np.where(candidates < 0, rows[:, None], candidates)
        weights = _log_expected_weights(places, covariances, rows, candidates, variance)
        chosen = np.argpartition(-weights, k - 1, axis=1)[:, :k]
        neighbors[rows] = np.take_along_axis(candidates, chosen, axis=1)

    for _ in in_threads(choose, _blocks(tree)):
        pass
    return NeighborPairs.from_neighbors(neighbors)


def _blocks(tree: Any) -> list[Index]:
    """Blocks of points in the order of the tree: successive points are close, and so are their neighbours in memory."""
    return [tree.indices[i : i + BLOCK] for i in range(0, tree.n, BLOCK)]


def _spacing(tree: Any, k: int) -> float:
    """Median distance of a point to its k-th nearest, itself the first (if all are 0, the spread of all points)."""
    sample = tree.data[:: 1 + tree.n // SAMPLE]
    return float(np.median(tree.query(sample, [k])[0])) or float(np.std(tree.data)) or 1.0


def _log_expected_weights(places: Real, covariances: Real, rows: Index, candidates: Index, variance: float) -> Real:
    """log of the expected weight of each of some points with each of its candidates; -inf with itself."""
    if len(places) > SMALL:
        return np.asarray(_log_weights_in_lanes(places, covariances, rows, candidates, variance))
    n, r = places.shape
    half, scaled = np.eye(r)[:, :, None] / 2 + covariances.transpose(1, 2, 0) / variance, places.T / np.sqrt(variance)
    weights = np.full((n, n), -np.inf)
    for i, j in np.array_split(np.stack(np.triu_indices(n, 1)), 1 + n * n // (4 * BLOCK), axis=1):
        roots, log_det = inverse_roots(half.take(i, axis=2) + half.take(j, axis=2))
        away = np.einsum("jkn,kn->jn", roots, scaled[:, i] - scaled[:, j])
        weights[i, j] = weights[j, i] = -0.5 * (np.square(away).sum(axis=0) + log_det)
    return np.asarray(weights[rows[:, None], candidates])


@compiled(shapes=("N r", "N r r", "M", "M C", ""), fastmath=False)
def _log_weights_in_lanes(places: Any, covariances: Any, rows: Any, candidates: Any, variance: float) -> Any:
    """The same, compiled.

    The innermost loops run over many candidates at a time, so that they are vectorised.
    """
    r = places.shape[1]
    weights = np.empty(candidates.shape)
    lower, away = np.empty((r, r, LANES)), np.empty((r, LANES))  # S_i + S_j + variance, then its factor; v_i - v_j
    pivot, total = np.empty((r, LANES)), np.empty(LANES)
    for row in range(len(rows)):
        i = rows[row]
        for start in range(0, candidates.shape[1], LANES):
            n = min(LANES, candidates.shape[1] - start)
            for c in range(n):
                j = candidates[row, start + c]
                total[c] = np.inf if i == j else 0.0
                for a in range(r):
                    away[a, c] = places[i, a] - places[j, a]
                    for b in range(a + 1):
                        lower[a, b, c] = covariances[i, a, b] + covariances[j, a, b]
            factorise(lower, pivot, variance, n)
            for a in range(r):
                for k in range(a):
                    for c in range(n):
                        away[a, c] -= lower[a, k, c] * away[k, c]
                for c in range(n):
                    away[a, c] *= pivot[a, c]
                    total[c] += away[a, c] * away[a, c]
            for c in range(n):
                product = 1.0
                for a in range(r):
                    product *= variance * pivot[a, c] * pivot[a, c]
                weights[row, start + c] = -0.5 * (total[c] - np.log(product))
    return weights
