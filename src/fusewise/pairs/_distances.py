"""Distances between rows by blocks of matrix products, and the interface between the fusion loop and pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Array, Index, Real, Values, library
from fusewise.observations import Entries, InMemory, row_blocks


def real_view(centers: Values) -> Real:
    """View rows of complex numbers as rows of twice as many real ones, with the same distances."""
    return np.ascontiguousarray(centers).view(centers.real.dtype)


def h1_weight(squares: Array, variance: float | Array) -> Array:
    """exp(-d² / (2 sigma²)) of squared distances, sigma² = `variance`: the H1 penalty is one less this."""
    return library(squares).exp(squares * (-0.5 / variance))


def partial_squared_distances(
    entries: Entries, rows: slice | Index = slice(None), others: slice | Index = slice(None), *, min_overlap: int = 1
) -> Real:
    """(P / |w|) ||S_w (x_i - x_j)||², w = I_i ∩ I_j; infinite if |w| < min_overlap.

    Three matrix products: with V the values (zero where missing) and M the mask,
    ||S_w (x_i - x_j)||² = (|V|² M' + M |V|²' - 2 Re V V^H)_ij and |w| = (M M')_ij.
    P counts the columns with any observed entry; `rows` and `others` say which rows i and j.
    """
    # Shifting the columns does not change distances; centring them reduces rounding errors.
    a, b = entries.centred[rows], entries.centred[others]
    seen_a, seen_b = entries.seen[rows], entries.seen[others]
    common = seen_a @ seen_b.T
    s = real_view(a) @ real_view(b).T
    s *= -2
    s += np.square(np.abs(a)) @ seen_b.T
    s += seen_a @ np.square(np.abs(b)).T
    np.maximum(s, 0, out=s)
    s *= np.count_nonzero(entries.column_counts) / np.maximum(common, 1)
    s[common < min_overlap] = np.inf
    return s


def partial_squared_distances_between(entries: Entries, first: Index, second: Index, *, min_overlap: int = 1) -> Real:
    """Partial squared distances, as ``partial_squared_distances``, for given pairs (i, j)."""
    s = np.empty(len(first), dtype=entries.seen.dtype)
    n_features = np.count_nonzero(entries.column_counts)
    for some in row_blocks(len(s), entries.shape[1]):
        i, j = first[some], second[some]
        common = entries.mask[i] & entries.mask[j]
        squares = np.square(np.abs(np.where(common, entries.values[i] - entries.values[j], 0))).sum(axis=1)
        counts = common.sum(axis=1)
        s[some] = np.where(counts >= min_overlap, squares * (n_features / np.maximum(counts, 1)), np.inf)
    return s


def partial_squared_distances_to(rows: InMemory, points: Values) -> Real:
    """(P / |I_i|) ||S_i (x_i - c_k)||² for complete points c_k; NaN for a row without observed entries.

    The distances of a row depend on that row alone, not on the other rows it is passed with.
    """
    p = rows.shape[1]
    shift = points.mean(axis=0) if len(points) else np.zeros(p, points.dtype)
    near, moved = rows.standardised(np.arange(p), np.ones(p), shift), points - shift
    s = -2 * np.asarray(near.values @ moved.conj().T).real
    s += np.asarray(near.squares.sum(axis=1)).reshape(-1, 1)
    s += near.seen @ np.square(np.abs(moved)).T
    np.maximum(s, 0, out=s)
    counts = rows.row_counts[:, None]
    return np.where(counts > 0, s * (p / np.maximum(counts, 1)), np.nan).astype(np.finfo(rows.dtype).dtype)


class PairPenalty(Protocol):
    """The interface of a penalty phi, as pairs use it."""

    def value_and_weight(self, s: Array) -> tuple[Array, Array]:
        """phi(t) and phi'(t) / (2 t) at t = sqrt(s)."""


class PairWeights(Protocol):
    """Weights of pairs at given centres: the quadratic that majorises the pair term there.

    Arrays are NumPy arrays or tensors on a device; the loop works with both.
    """

    @property
    def energy(self) -> float: ...  # sum_i sum_j c_ij phi(||u_i - u_j||), over ordered pairs
    @property
    def degree(self) -> Array: ...  # d_i = sum_j w_ij, with w_ij = c_ij weight(||u_i - u_j||)

    def laplacian(self, centers: Array) -> Array:
        """L u = d_i u_i - sum_j w_ij u_j: a quarter of the gradient of sum_ij w_ij ||u_i - u_j||²."""


class WeightArray:
    """The one array that all weights of the same pairs share: it holds those that were used last."""

    def __init__(self) -> None:
        self.owner: object = None
        self._flat: Real = np.empty(0)

    def room(self, n: int, dtype: npt.DTypeLike) -> Real:
        """An n x n array to fill; whatever the array holds is lost."""
        self.owner = None
        if self._flat.size < n * n or self._flat.dtype != dtype:
            self._flat = np.empty(0)  # lets go of the old one first
            self._flat = np.empty(n * n, dtype)
        return self.held(n)

    def held(self, n: int) -> Real:
        """The first n x n numbers of the array."""
        return self._flat[: n * n].reshape(n, n)


@dataclass(frozen=True, eq=False)
class DenseWeights:
    """Weights of all pairs, in one N x N array that is computed anew if other weights have taken its place."""

    energy: float
    degree: Real
    fill: Callable[[Real], object]  # computes the w_ij into an N x N array
    array: WeightArray  # shared with other weights of the same pairs
    #: Tells the array that it holds these weights (they themselves would form a cycle, and stay in memory).
    mark: object = field(default_factory=object, repr=False)

    @property
    def matrix(self) -> Real:
        """w_ij, symmetric with a zero diagonal; valid until other weights of the same pairs are used."""
        n = len(self.degree)
        if self.array.owner is self.mark:
            return self.array.held(n)
        matrix = self.array.room(n, self.degree.dtype)
        self.fill(matrix)
        self.array.owner = self.mark
        return matrix

    def laplacian(self, centers: Values) -> Values:
        summed: Values = (self.matrix @ real_view(centers)).view(centers.dtype)
        return self.degree[:, None] * centers - summed


class Pairs(Protocol):
    """Pairs of points with prior affinities c_ij."""

    @property
    def n_points(self) -> int: ...
    @property
    def largest_degree(self) -> float: ...  # max_i sum_j c_ij

    def weigh(self, centers: Array, penalty: PairPenalty) -> PairWeights:
        """Weigh every pair by the distance of its centres."""

    def weigh_partial(self, entries: Entries, penalty: PairPenalty, min_overlap: int) -> PairWeights:
        """Weigh every pair by its partial distance; a pair with too few common entries gets no weight."""

    def merge(self, groups: Index, n_groups: int) -> Pairs:
        """Replace each group by one point: affinities between two groups add up, those within one are removed."""

    def spans(self, centers: Array) -> tuple[Index, Index, Real]:
        """Minimum spanning forest of the centres along the pairs: ends and lengths of its edges, in NumPy arrays."""
