"""All pairs, as in the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fusewise.observations import Entries
from fusewise.observations.entries import Real, Values
from fusewise.pairs.distances import partial_squared_distances, real_view, row_blocks
from fusewise.pairs.weights import Weighted
from fusewise.penalties import Penalty


@dataclass(frozen=True)
class CompletePairs:
    """Every pair of N points, c_ij = 1. One N x N array of weights is all the memory it takes."""

    n_points: int

    @property
    def largest_degree(self) -> float:
        """max_i sum_j c_ij."""
        return float(self.n_points - 1)

    def weigh(self, centers: Values, penalty: Penalty) -> Weighted:
        """Weigh every pair by the distance of its centres."""
        points = real_view(centers - centers.mean(axis=0))
        norms = np.square(points).sum(axis=1)
        # One product gives the squared distances: (-2 u_i, |u_i|², 1) . (u_j, 1, |u_j|²).
        ones = np.ones_like(norms)
        left = np.column_stack([-2 * points, norms, ones])
        right = np.column_stack([points, ones, norms]).T.copy()

        def block(rows: slice) -> tuple[Real, Real]:
            s: Real = left[rows] @ right[:, rows.start :]
            np.maximum(s, 0, out=s)
            np.fill_diagonal(s, 0)
            return penalty.value_and_weight(s)

        return self._weigh(block, points.dtype)

    def weigh_partial(self, entries: Entries, penalty: Penalty, min_overlap: int) -> Weighted:
        """Weigh every pair by its partial distance; a pair with too few common entries gets no weight."""

        def block(rows: slice) -> tuple[Real, Real]:
            s = partial_squared_distances(entries, rows, min_overlap=min_overlap)[:, rows.start :]
            unknown = np.isinf(s)
            s[unknown] = 0
            value, weight = penalty.value_and_weight(s)
            weight[unknown] = 0
            return value, weight

        return self._weigh(block, entries.seen.dtype)

    def _weigh(self, block: Callable[[slice], tuple[Real, Real]], dtype: np.dtype[Any]) -> Weighted:
        """Fill the weights a block row of the upper triangle at a time; the lower one is its mirror image."""
        n = self.n_points
        weights = np.empty((n, n), dtype=dtype)
        energy = 0.0
        for rows in row_blocks(n, n):
            value, weight = block(rows)
            width = rows.stop - rows.start
            np.fill_diagonal(weight, 0)
            energy += 2 * float(value.sum(dtype=float)) - float(value[:, :width].sum(dtype=float))
            weights[rows, rows.start :] = weight
            weights[rows.stop :, rows] = weight[:, width:].T
        return Weighted(energy, weights, weights.sum(axis=1))
