"""The interface between the fusion loop and all kinds of pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fusewise.kernels.arrays import Array, to_host
from fusewise.kernels.types import Index, Real, Values
from fusewise.observations import Entries
from fusewise.pairs.distances import real_view


class PairPenalty(Protocol):
    """The interface of a penalty phi, as pairs use it."""

    def value_and_weight(self, s: Array) -> tuple[Array, Array]:
        """phi(t) and phi'(t) / (2 t) at t = sqrt(s)."""
        ...


class Weighted(Protocol):
    """Weights of pairs at given centres: the quadratic that majorises the pair term there.

    Arrays are NumPy arrays or tensors on a device; the loop works with both.
    """

    @property
    def energy(self) -> float:
        """sum_i sum_j c_ij phi(||u_i - u_j||), over ordered pairs."""
        ...

    @property
    def degree(self) -> Array:
        """d_i = sum_j w_ij, with w_ij = c_ij weight(||u_i - u_j||)."""
        ...

    def sums(self, centers: Array) -> Array:
        """sum_j w_ij u_j."""
        ...

    def laplacian(self, centers: Array) -> Array:
        """L u = d_i u_i - sum_j w_ij u_j: a quarter of the gradient of sum_ij w_ij ||u_i - u_j||²."""
        ...


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
    """Weights of all pairs, in one N x N array that is computed anew if other weights have taken its place.

    Attributes
    ----------
    energy, degree : see ``Weighted``.
    fill : compute the w_ij into an N x N array.
    array : the array, shared with other weights of the same pairs.
    mark : tells the array that it holds these weights (they themselves would form a cycle, and stay in memory).
    """

    energy: float
    degree: Real
    fill: Callable[[Real], object]
    array: WeightArray
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

    def give_up(self) -> Real:
        """The w_ij in an array to overwrite; they are computed anew if they are needed again."""
        matrix = self.matrix
        self.array.owner = None
        return matrix

    def sums(self, centers: Values) -> Values:
        """sum_j w_ij u_j."""
        summed: Values = (self.matrix @ real_view(centers)).view(centers.dtype)
        return summed

    def laplacian(self, centers: Values) -> Values:
        """L u = d_i u_i - sum_j w_ij u_j."""
        return self.degree[:, None] * centers - self.sums(centers)


class Pairs(Protocol):
    """Pairs of points with prior affinities c_ij."""

    @property
    def n_points(self) -> int:
        """N."""
        ...

    @property
    def largest_degree(self) -> float:
        """max_i sum_j c_ij."""
        ...

    def weigh(self, centers: Array, penalty: PairPenalty) -> Weighted:
        """Weigh every pair by the distance of its centres."""
        ...

    def weigh_partial(self, entries: Entries, penalty: PairPenalty, min_overlap: int) -> Weighted:
        """Weigh every pair by its partial distance; a pair with too few common entries gets no weight."""
        ...

    def merge(self, groups: Index, n_groups: int) -> Pairs:
        """Replace each group by one point: affinities between two groups add up, those within one are removed."""
        ...

    def spans(self, centers: Array) -> tuple[Index, Index, Real]:
        """Minimum spanning forest of the centres along the pairs: ends and lengths of its edges, in NumPy arrays."""
        ...


class OnDevice:
    """Pairs on a device, as far as the same pairs in NumPy arrays, their `host`, do the work."""

    host: Pairs

    @property
    def n_points(self) -> int:
        """N."""
        return self.host.n_points

    @property
    def largest_degree(self) -> float:
        """max_i sum_j c_ij."""
        return self.host.largest_degree

    def merge(self, groups: Index, n_groups: int) -> Pairs:
        """Replace each group by one point, in NumPy arrays."""
        return self.host.merge(groups, n_groups)

    def spans(self, centers: Array) -> tuple[Index, Index, Real]:
        """Minimum spanning forest, in NumPy arrays."""
        return self.host.spans(to_host(centers))
