"""All pairs, as in the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from fusewise.kernels.spanning import spanning_tree
from fusewise.kernels.threads import in_threads
from fusewise.kernels.types import Index, Real, Values
from fusewise.observations import Entries
from fusewise.pairs.distances import partial_squared_distances, real_view
from fusewise.pairs.weights import DenseWeights, PairPenalty, WeightArray, Weighted

#: Side of a square block of pairs: a few such blocks fit a processor's cache.
BLOCK_SIDE = 192


@dataclass(frozen=True)
class CompletePairs:
    """Every pair of N points, with c_ij = 1; uses the memory of one N x N array of weights.

    Attributes
    ----------
    n_points : N.
    sizes : number of points each one represents, if some have been merged: then c_ij = n_i n_j.
    array : where the weights are, those that were used last.
    """

    n_points: int
    sizes: Real | None = None
    array: WeightArray = field(default_factory=WeightArray, repr=False, compare=False)

    @property
    def largest_degree(self) -> float:
        """max_i sum_j c_ij."""
        if self.sizes is None:
            return float(self.n_points - 1)
        return float((self.sizes * (self.sizes.sum() - self.sizes)).max())

    def weigh(self, centers: Values, penalty: PairPenalty) -> Weighted:
        """Weigh every pair by the distance of its centres."""
        points = real_view(centers - centers.mean(axis=0))
        norms = np.square(points).sum(axis=1)
        # One product gives the squared distances: (-2 u_i, |u_i|², 1) . (u_j, 1, |u_j|²).
        ones = np.ones_like(norms)
        left = np.column_stack([-2 * points, norms, ones])
        right = np.column_stack([points, ones, norms])

        def block(rows: slice, columns: slice) -> tuple[Real, Real]:
            s: Real = left[rows] @ right[columns].T
            return penalty.value_and_weight(np.maximum(s, 0, out=s))

        return self._weigh(block, points.dtype)

    def weigh_partial(self, entries: Entries, penalty: PairPenalty, min_overlap: int) -> Weighted:
        """Weigh every pair by its partial distance; a pair with too few common entries gets no weight."""

        def block(rows: slice, columns: slice) -> tuple[Real, Real]:
            s = partial_squared_distances(entries, rows, columns, min_overlap=min_overlap)
            unknown = np.isinf(s)
            s[unknown] = 0
            value, weight = penalty.value_and_weight(s)
            weight[unknown] = 0
            return value, weight

        return self._weigh(block, entries.seen.dtype)

    def merge(self, groups: Index, n_groups: int) -> CompletePairs:
        """Replace each group by one point; the affinity of two groups counts the pairs between their members."""
        sizes = np.ones(self.n_points) if self.sizes is None else self.sizes
        counts = np.bincount(groups, sizes, minlength=n_groups).astype(sizes.dtype)
        return CompletePairs(n_groups, counts, self.array)

    def spans(self, centers: Values) -> tuple[Index, Index, Real]:
        """Minimum spanning tree of the centres: ends and lengths of its edges."""
        return spanning_tree(real_view(centers))

    def _weigh(self, block: Callable[[slice, slice], tuple[Real, Real]], dtype: np.dtype[Any]) -> Weighted:
        """The weights of these blocks; filled now, as the energy and the degrees are their sums."""
        weights = self.array.room(self.n_points, dtype)
        energy, degree = self._fill(block, weights)
        weighted = DenseWeights(energy, degree, partial(self._fill, block), self.array)
        self.array.owner = weighted.mark
        return weighted

    def _fill(self, block: Callable[[slice, slice], tuple[Real, Real]], weights: Real) -> tuple[float, Real]:
        """Fill the weights in blocks of the upper triangle, and mirror them to the lower one; return their sums."""
        degree = np.zeros(self.n_points, dtype=weights.dtype)

        def fill(place: tuple[slice, slice]) -> tuple[float, Real, Real]:
            value, weight = block(*place)
            if self.sizes is not None:
                affinity = np.outer(self.sizes[place[0]], self.sizes[place[1]])
                value, weight = value * affinity, weight * affinity
            if place[0] == place[1]:  # each pair once, and no point with itself
                value, weight = np.triu(value, 1), np.triu(weight, 1)
            along, down = weight.sum(axis=1), weight.sum(axis=0)
            if place[0] == place[1]:
                weight += weight.T
            weights[place] = weight
            weights[place[::-1]] = weight.T
            return float(value.sum(dtype=float)), along, down

        energy = 0.0
        places = list(_upper_blocks(self.n_points))
        for (rows, columns), (part, along, down) in zip(places, in_threads(fill, places), strict=True):
            energy += 2 * part
            degree[rows] += along
            degree[columns] += down
        return energy, degree


def _upper_blocks(n: int) -> Iterator[tuple[slice, slice]]:
    """Blocks (rows, columns) that cover the upper triangle of an n x n array."""
    sides = [slice(start, min(start + BLOCK_SIDE, n)) for start in range(0, n, BLOCK_SIDE)]
    for i, rows in enumerate(sides):
        for columns in sides[i:]:
            yield rows, columns
