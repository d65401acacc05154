"""Pairs along a graph of nearest neighbours, in NumPy and in tensors on a device.

A row with few observed entries has an uncertain position N(v_i, S_i) in a subspace. The expected H1 weight of a pair is
then, up to the factor 1/(2 sigma²),

    det(I + (S_i + S_j)/sigma²)^(-1/2) exp(-(v_i - v_j)' (sigma² I + S_i + S_j)^(-1) (v_i - v_j) / 2):

the counterpart of partial distances in a subspace. A point with an unknown position is far from all others. Candidates
are found by position alone, with a tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from fusewise.kernels import (
    LANES,
    Array,
    Index,
    Mask,
    Real,
    beside,
    by_rows,
    compiled,
    edge_squares,
    factorise,
    factorised,
    few,
    in_threads,
    inverse_roots,
    laplacian,
    library,
    merged_edges,
    nearest_in,
    row_weights,
    spanning_forest,
    squares_of,
    to_host,
    torch_device,
    total,
)
from fusewise.observations import Entries, row_blocks
from fusewise.pairs._distances import (
    PairPenalty,
    PairWeights,
    partial_squared_distances,
    partial_squared_distances_between,
    real_view,
)
from fusewise.support import InputError

#: Rows for each of the 2^P cells around a point of P columns, up to which its neighbours are found by comparing it with
#: all rows: measured with 15 neighbours (a tree is faster at 20,000 x 6, not at 60,000 x 8 or 60,000 x 10).
ROWS_PER_CELL = 150


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Positions of the edges of a graph in the rows of its symmetric matrix (compressed sparse rows)."""

    indptr: Array
    indices: Array
    edges: Array  # the edge of each entry of the matrix


@dataclass(frozen=True, eq=False)
class SparseWeights:
    """Weights along a graph, in NumPy arrays or tensors on a device."""

    energy: float
    degree: Array
    adjacency: Adjacency
    data: Array  # w_ij in the order of its rows
    weights: Array  # w_ij of each edge
    squares: Array  # ||u_i - u_j||² of each edge, by which it was weighed
    centers: Array | None = None  # the u_i, if the edges were weighed by their distances

    @property
    def matrix(self) -> Any:
        """w_ij, a symmetric sparse matrix."""
        n = len(self.degree)
        return sparse.csr_matrix((self.data, self.adjacency.indices, self.adjacency.indptr), shape=(n, n))

    def laplacian(self, centers: Array) -> Array:
        """L u = d_i u_i - sum_j w_ij u_j; kept for the centres at which the edges were weighed."""
        return self._at_centers if centers is self.centers else self._product(centers)

    @cached_property
    def _at_centers(self) -> Array:
        product = self._product(self.centers)
        if isinstance(product, np.ndarray):
            product.flags.writeable = False
        return product

    def _product(self, centers: Array) -> Array:
        rows = self.adjacency
        product = laplacian(rows.indptr, rows.indices, self.data, self.degree, _points(centers))
        return product.view(centers.dtype)


def _points(centers: Array) -> Array:
    return real_view(centers) if isinstance(centers, np.ndarray) else centers


@dataclass(frozen=True, eq=False)
class NeighborPairs:
    """Pairs (i, j), i < j, with affinities c_ij: the edges of a graph on N points.

    Its arrays are NumPy arrays, or tensors on a device (``on``).
    """

    n_points: int
    first: Array
    second: Array
    affinity: Array

    @classmethod
    def nearest(cls, entries: Entries, n_neighbors: int) -> Self:
        """Join each point to its `n_neighbors` nearest by partial distance."""
        n = entries.shape[0]
        if n_neighbors < 1:
            raise InputError(f"n_neighbors must be at least 1, got {n_neighbors!r}")
        k = min(n_neighbors, n - 1)
        neighbors, known = _nearest(entries, k)
        return cls.from_neighbors(np.where(known, neighbors, np.arange(n)[:, None]), entries.seen.dtype)

    @classmethod
    def from_neighbors(cls, neighbors: Array, dtype: npt.DTypeLike = np.float64, device: str = "cpu") -> Self:
        """Join each point i to the points neighbors[i] (i itself stands for none), with affinity 1.

        `neighbors` is N x k, a NumPy array or a tensor; `device` is where to sort the edges.
        """
        n = len(neighbors)
        where = torch_device(device)
        if where is None:
            own = np.arange(n)[:, None]
            # np.unique would hash them, which is ten times slower.
            keys: Array = np.sort(np.minimum(own, neighbors) * n + np.maximum(own, neighbors), axis=None)
            keys = keys[np.append(True, keys[1:] != keys[:-1])]
        else:
            import torch

            others = torch.as_tensor(neighbors, device=where)
            points = torch.arange(n, device=where)[:, None]
            keys = torch.unique(torch.minimum(points, others) * n + torch.maximum(points, others))
        first = keys // n
        second = keys - first * n
        apart = first != second
        return cls(n, to_host(first[apart]), to_host(second[apart]), np.ones(int(apart.sum()), dtype))

    def on(self, device: Any, dtype: Any) -> NeighborPairs:
        """The graph on a device, with affinities in the precision of the centres."""
        import torch

        rows = self.adjacency
        parts = (self.first, self.second, rows.indptr, rows.indices, rows.edges)
        kind = np.int32 if 2 * len(self.first) < 2**31 else np.int64  # half the memory and memory traffic
        first, second, indptr, indices, edges = (torch.from_numpy(part.astype(kind)).to(device) for part in parts)
        there = NeighborPairs(self.n_points, first, second, torch.from_numpy(self.affinity).to(device, dtype))
        there.__dict__["adjacency"] = Adjacency(indptr, indices, edges)
        return there

    @property
    def largest_degree(self) -> float:
        affinity = to_host(self.affinity)
        sums = [np.bincount(to_host(ends), affinity, self.n_points) for ends in (self.first, self.second)]
        return float(np.add(*sums).max())

    @cached_property
    def adjacency(self) -> Adjacency:
        return Adjacency(*by_rows(self.n_points, self.first, self.second))

    def weigh(self, centers: Array, penalty: PairPenalty) -> PairWeights:
        s = edge_squares(_points(centers), self.first, self.second)
        return self._weighted(*penalty.value_and_weight(s), s, centers)

    def weigh_partial(self, entries: Entries, penalty: PairPenalty, min_overlap: int) -> PairWeights:
        ends = to_host(self.first), to_host(self.second)
        s = beside(partial_squared_distances_between(entries, *ends, min_overlap=min_overlap), self.affinity)
        known = library(s).isfinite(s)
        value, weight = penalty.value_and_weight(library(s).where(known, s, 0))
        return self._weighted(value, weight * known, s)

    def merge(self, groups: Index, n_groups: int) -> NeighborPairs:
        """Replace each group by one point: affinities of parallel edges add up, edges within a group are removed."""
        return NeighborPairs(n_groups, *merged_edges(groups, n_groups, self.first, self.second, self.affinity))

    def spans(self, centers: Array) -> tuple[Index, Index, Real]:
        squares = edge_squares(_points(centers), self.first, self.second)
        edges = spanning_forest(self.n_points, self.first, self.second, squares)
        first, second, chosen = (to_host(part[edges]) for part in (self.first, self.second, squares))
        return first.astype(np.intp), second.astype(np.intp), np.sqrt(chosen)

    def _weighted(self, value: Array, weight: Array, s: Array, centers: Array | None = None) -> SparseWeights:
        affinity = self.affinity
        if isinstance(affinity, np.ndarray):
            affinity = affinity.astype(weight.dtype, copy=False)
        weights, rows = affinity * weight, self.adjacency
        data, degree = row_weights(rows.indptr, rows.indices, rows.edges, weights)
        return SparseWeights(2 * total(affinity * value), degree, rows, data, weights, s, centers)


def _nearest(entries: Entries, k: int) -> tuple[Index, Mask]:
    """The k nearest of each point, and whether they have an entry in common with it."""
    n = entries.shape[0]
    if entries.is_complete:
        points = real_view(entries.values)
        # A tree searches the cells around each point, up to 2^P: often slower than the products of all rows.
        how = "brute" if n <= ROWS_PER_CELL * 2 ** min(points.shape[1], 50) else "auto"
        centred = points - points.mean(axis=0)  # the products cancel far from the origin
        found = NearestNeighbors(n_neighbors=k, algorithm=how).fit(centred).kneighbors(return_distance=False)
        return np.asarray(found, dtype=np.intp), np.ones((n, k), dtype=bool)
    neighbors = np.empty((n, k), dtype=np.intp)
    known = np.empty((n, k), dtype=bool)
    for rows in row_blocks(n, n):
        s = partial_squared_distances(entries, rows)
        np.fill_diagonal(s[:, rows], np.inf)
        neighbors[rows] = np.argpartition(s, k - 1, axis=1)[:, :k]
        known[rows] = np.isfinite(np.take_along_axis(s, neighbors[rows], axis=1))
    return neighbors, known


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
        factor = factorised((S[own, None] + S[some]).unbind(2), variance)
        weights = -0.5 * (squares_of(factor.whitened(away)) + factor.log_det - len(away) * math.log(variance))
        chosen.append(some.gather(1, weights.topk(k, dim=1).indices))
    return torch.cat(chosen)


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
    # Blocks in the order of the tree: successive points are close, and so are their neighbours in memory.
    blocks = [tree.indices[rows] for rows in row_blocks(n, 1, BLOCK)]
    # The median squared distance to the k-th neighbour; if it is 0, the spread of all points.
    squares = np.square(tree.query(places[:: 1 + n // SAMPLE], [k + 1])[0])
    variance = float(np.median(squares)) or float(np.var(places)) or 1.0
    bounds = Bounds.of(places, covariances, variance) if n <= EXHAUSTIVE else None
    neighbors = np.empty((n, k), np.intp)

    def choose(rows: Index) -> None:
        candidates = np.asarray(tree.query(places[rows], count)[1])
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
                lower[a, a, c] += variance
        factorise(lower, pivot, n)
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
