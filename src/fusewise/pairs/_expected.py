"""Nearest neighbours of points with uncertain positions.

A row with few observed entries has an uncertain position N(v_i, S_i) in a subspace. The expected H1 weight of a pair is
then, up to the factor 1/(2 sigma²),

    det(I + (S_i + S_j)/sigma²)^(-1/2) exp(-(v_i - v_j)' (sigma² I + S_i + S_j)^(-1) (v_i - v_j) / 2):

the counterpart of partial distances in a subspace. A point with an unknown position is far from all others. Candidates
are found by position alone, with a tree.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from fusewise.kernels import (
    LANES,
    Array,
    Index,
    Real,
    compiled,
    factorise,
    factorised,
    few,
    in_threads,
    inverse_roots,
    nearest_in,
    squares_of,
    to_host,
    torch_device,
)
from fusewise.pairs._neighbors import NeighborPairs

#: Numbers in the covariances of the pairs that are processed at a time.
DEVICE_BLOCK = 2**28


def likeliest(places: Array, covariances: Array, k: int, n_candidates: int, every: int, device: str) -> Array:
    """The k neighbours with the largest expected weight among the `n_candidates` nearest of each point; N x k.

    The scale is the median distance to the k-th nearest, taken over every `every`-th point.
    """
    import torch

    n, r = places.shape
    v = torch.as_tensor(places, device=torch_device(device))
    squares, candidates = nearest_in(v, n_candidates)
    spacing = float(np.median(np.sqrt(to_host(squares[::every, k - 1]))))
    variance = spacing**2 or float(v.var(correction=0)) or 1.0
    rows, columns = torch.tril_indices(r, r, device=v.device)
    S = torch.as_tensor(covariances, device=v.device)[:, rows, columns]
    chosen = []
    step = max(1, DEVICE_BLOCK // (n_candidates * S.shape[1]))
    for begin in range(0, n, step):
        some = candidates[begin : begin + step]
        own = slice(begin, begin + len(some))
        away = (v[own, None] - v[some]).unbind(2)
        weights = _log_weights_on_device(away, (S[own, None] + S[some]).unbind(2), variance)
        chosen.append(some.gather(1, weights.topk(k, dim=1).indices))
    return torch.cat(chosen)


def _log_weights_on_device(away: tuple[Array, ...], both: tuple[Array, ...], variance: float) -> Array:
    """Log of the expected weights, from a tensor for each entry of v_i - v_j and of the lower triangle of S_i + S_j."""
    factor = factorised(both, variance)
    return -0.5 * (squares_of(factor.whitened(away)) + factor.log_det - len(away) * math.log(variance))


#: Up to this many points the neighbours have the largest weights of all; beyond, of the nearest by position.
EXHAUSTIVE = 1500

#: Number of candidates by position, in units of the number of neighbours; and where they serve as a first guess.
CANDIDATES, GUESSED = 3, 2

#: Largest number of points at which distances to the nearest neighbours are measured.
SAMPLE = 5000

#: Points in a leaf of the tree: the fastest size for finding dozens of neighbours.
LEAF = 64

#: Points processed at a time on each thread.
BLOCK = 1024


def nearest_expected(places: Array, covariances: Array, n_neighbors: int, device: str = "cpu") -> NeighborPairs:
    """Join each point to the `n_neighbors` with the largest expected weight, at the scale of the nearest neighbours.

    `places` and `covariances` are the v_i and S_i, real: NumPy arrays, or tensors on the device. The graph is made
    symmetric, so some points have more neighbours.
    """
    n = len(places)
    k = min(n_neighbors, n - 1)
    if n > EXHAUSTIVE and torch_device(device) is not None:
        found = likeliest(places, covariances, k, min(n - 1, CANDIDATES * k), 1 + n // SAMPLE, device)
        return NeighborPairs.from_neighbors(found, device=device)
    places, covariances = to_host(places), to_host(covariances)
    tree = cKDTree(places, leafsize=LEAF)
    count = min(n, (GUESSED if n <= EXHAUSTIVE else CANDIDATES) * k + 1)

    def search(rows: Index) -> Index:
        return np.asarray(tree.query(places[rows], count)[1])

    # Blocks in the order of the tree: successive points are close, and so are their neighbours in memory.
    blocks = [tree.indices[i : i + BLOCK] for i in range(0, n, BLOCK)]
    sample = np.arange(0, n, 1 + n // SAMPLE)
    near = np.empty((n, count), np.intp) if n <= SAMPLE else None  # of more points it is found a block at a time
    if near is None:
        variance = _spacing(places, sample, np.asarray(tree.query(places[sample], [k + 1])[1])[:, 0]) ** 2
    else:
        for rows, found in zip(blocks, in_threads(search, blocks), strict=True):
            near[rows] = found
        variance = _spacing(places, sample, near[sample, k]) ** 2
    bounds = Bounds.of(places, covariances, variance) if n <= EXHAUSTIVE else None
    neighbors = np.empty((n, k), np.intp)

    def choose(rows: Index) -> None:
        candidates = search(rows) if near is None else near[rows]
        ends = np.repeat(rows, candidates.shape[1]), candidates.ravel()
        weights = _log_expected_weights(places, covariances, *ends, variance).reshape(candidates.shape)
        chosen = np.argpartition(-weights, k - 1, axis=1)[:, :k]
        if bounds is None:
            neighbors[rows] = np.take_along_axis(candidates, chosen, axis=1)
            return
        least = np.take_along_axis(weights, chosen, axis=1).min(axis=1)
        at, candidate = bounds.reached(rows, least)
        weights = _log_expected_weights(places, covariances, rows[at], candidate, variance)
        order = np.lexsort((-weights, at))
        first = np.searchsorted(at[order], np.arange(len(rows)))
        neighbors[rows] = candidate[order][first[:, None] + np.arange(k)]

    for _ in in_threads(choose, blocks):
        pass
    return NeighborPairs.from_neighbors(neighbors)


def _spacing(places: Real, sample: Index, neighbor: Index) -> float:
    """Median distance of some points to a neighbour of each (if all are 0, the spread of all points)."""
    away = places[sample] - places[neighbor]
    return float(np.sqrt(np.median(np.square(away).sum(axis=1)))) or float(np.std(places)) or 1.0


class Bounds(NamedTuple):
    """Upper bounds of the log-weights: with d_ij the distance in units of sigma, and A_i = I + 2 S_i/sigma²,

        -2 log w_ij >= d_ij² / (1 + |S_i|/sigma² + |S_j|/sigma²) + (log det A_i + log det A_j) / 2,

    as no eigenvalue of a matrix exceeds its Frobenius norm, and the logarithm of the determinant is concave.
    """

    places: Real  # N x r, in units of sigma
    widths: Real  # N, the |S_i|/sigma²
    halves: Real  # N, the (log det A_i) / 2

    @classmethod
    def of(cls, places: Real, covariances: Real, variance: float) -> Bounds:
        scaled = covariances / variance
        halves = 0.5 * np.linalg.slogdet(np.eye(places.shape[1]) + 2 * scaled)[1]
        widths = np.sqrt(np.square(scaled).sum(axis=(1, 2)))
        return cls(places / np.sqrt(variance), widths, halves)

    def reached(self, rows: Index, least: Real) -> tuple[Index, Index]:
        """The pairs of some points with all whose weight may be at least a number of each: its place in `rows`, j."""
        most = -2 * least * (1 + np.sign(-least) * 1e-9) + 1e-9  # rounding
        left = (most - self.halves[rows])[:, None] - self.halves
        near = cdist(self.places[rows], self.places, "sqeuclidean") <= left * (
            1 + self.widths[rows, None] + self.widths
        )
        at, candidates = np.nonzero(near)
        return at, candidates


def _log_expected_weights(places: Real, covariances: Real, first: Index, second: Index, variance: float) -> Real:
    """log of the expected weight of some pairs; -inf of a point with itself."""
    if not few(len(places)):
        return np.asarray(_log_weights_in_lanes(places, covariances, first, second, variance))
    r = places.shape[1]
    half, scaled = np.eye(r)[:, :, None] / 2 + covariances.transpose(1, 2, 0) / variance, places.T / np.sqrt(variance)
    weights = []
    for i, j in np.array_split(np.stack([first, second]), 1 + len(first) // (2 * BLOCK), axis=1):
        roots, log_det = inverse_roots(half.take(i, axis=2) + half.take(j, axis=2))
        away = np.einsum("jkn,kn->jn", roots, scaled[:, i] - scaled[:, j])
        weights.append(np.where(i == j, -np.inf, -0.5 * (np.square(away).sum(axis=0) + log_det)))
    return np.concatenate(weights)


@compiled(shapes=("N r", "N r r", "M", "M", ""), fastmath=False)
def _log_weights_in_lanes(places: Any, covariances: Any, first: Any, second: Any, variance: float) -> Any:
    """The same, compiled; the innermost loops run over many pairs at a time, so that they are vectorised."""
    r = places.shape[1]
    weights = np.empty(len(first))
    lower, away = np.empty((r, r, LANES)), np.empty((r, LANES))  # S_i + S_j + variance, then its factor; v_i - v_j
    pivot, total = np.empty((r, LANES)), np.empty(LANES)
    for start in range(0, len(first), LANES):
        n = min(LANES, len(first) - start)
        for c in range(n):
            i, j = first[start + c], second[start + c]
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
            weights[start + c] = -0.5 * (total[c] - np.log(product))
    return weights
