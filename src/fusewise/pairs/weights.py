"""The interface between the fusion loop and all kinds of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from fusewise.kernels.arrays import Array
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


@dataclass(frozen=True, eq=False)
class DenseWeights:
    """Weights of all pairs, in one N x N array.

    Attributes
    ----------
    energy, degree : see ``Weighted``.
    matrix : w_ij, symmetric with a zero diagonal.
    """

    energy: float
    matrix: Real
    degree: Real

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

    def spans(self, centers: Values) -> tuple[Index, Index, Real]:
        """Minimum spanning forest of the centres along the pairs: ends and lengths of its edges."""
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

    def spans(self, centers: Values) -> tuple[Index, Index, Real]:
        """Minimum spanning forest, in NumPy arrays."""
        return self.host.spans(centers)
