"""The interface through which the fusion loop sees pairs, whichever they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from fusewise.observations import Entries
from fusewise.observations.entries import Real, Values
from fusewise.pairs.distances import real_view
from fusewise.penalties import Penalty


@dataclass(frozen=True, eq=False)
class Weighted:
    """Pairs weighed at some centres: the quadratic that majorises the pair term there.

    Attributes
    ----------
    energy : sum_i sum_j c_ij phi(||u_i - u_j||), over ordered pairs.
    matrix : w_ij = c_ij weight(||u_i - u_j||), symmetric with a zero diagonal; dense, or sparse on a graph.
    degree : d_i = sum_j w_ij.
    """

    energy: float
    matrix: Any
    degree: Real

    def sums(self, centers: Values) -> Values:
        """sum_j w_ij u_j."""
        summed: Values = (self.matrix @ real_view(centers)).view(centers.dtype)
        return summed

    def laplacian(self, centers: Values) -> Values:
        """L u = d_i u_i - sum_j w_ij u_j: a quarter of the gradient of sum_ij w_ij ||u_i - u_j||²."""
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

    def weigh(self, centers: Values, penalty: Penalty) -> Weighted:
        """Weigh every pair by the distance of its centres."""
        ...

    def weigh_partial(self, entries: Entries, penalty: Penalty, min_overlap: int) -> Weighted:
        """Weigh every pair by its partial distance; a pair with too few common entries gets no weight."""
        ...
