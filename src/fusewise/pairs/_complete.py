"""All pairs, as in the paper: in NumPy, and in tensors on a device one block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from fusewise.kernels import Array, Index, Real, Values, device_memory, in_threads, spanning_tree, to_host
from fusewise.observations import Entries, row_blocks
from fusewise.pairs._distances import (
    DenseWeights,
    PairPenalty,
    PairWeights,
    WeightArray,
    partial_squared_distances,
    real_view,
)

#: Side of a square block of pairs: a few such blocks fit a processor's cache.
BLOCK_SIDE = 192


@dataclass(frozen=True)
class CompletePairs:
    """Every pair of N points, with c_ij = 1; uses the memory of one N x N array of weights."""

    n_points: int
    sizes: Real | None = None  # points that each one represents, if some have been merged: then c_ij = n_i n_j
    array: WeightArray = field(default_factory=WeightArray, repr=False, compare=False)

    @property
    def largest_degree(self) -> float:
        if self.sizes is None:
            return float(self.n_points - 1)
        return float((self.sizes * (self.sizes.sum() - self.sizes)).max())

    def weigh(self, centers: Values, penalty: PairPenalty) -> PairWeights:
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

    def weigh_partial(self, entries: Entries, penalty: PairPenalty, min_overlap: int) -> PairWeights:

        def block(rows: slice, columns: slice) -> tuple[Real, Real]:
            s = partial_squared_distances(entries, rows, columns, min_overlap=min_overlap)
            unknown = np.isinf(s)
            s[unknown] = 0
            value, weight = penalty.value_and_weight(s)
            weight[unknown] = 0
            return value, weight

        return self._weigh(block, entries.seen.dtype)

    def merge(self, groups: Index, n_groups: int) -> CompletePairs:
        sizes = np.ones(self.n_points) if self.sizes is None else self.sizes
        counts = np.bincount(groups, sizes, minlength=n_groups).astype(sizes.dtype)
        return CompletePairs(n_groups, counts, self.array)

    def spans(self, centers: Values) -> tuple[Index, Index, Real]:
        return spanning_tree(real_view(centers))

    def _weigh(self, block: Callable[[slice, slice], tuple[Real, Real]], dtype: np.dtype[Any]) -> PairWeights:
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
        sides = row_blocks(self.n_points, 1, BLOCK_SIDE)
        places = list(combinations_with_replacement(sides, 2))
        for (rows, columns), (part, along, down) in zip(places, in_threads(fill, places), strict=True):
            energy += 2 * part
            degree[rows] += along
            degree[columns] += down
        return energy, degree


#: Pairs in one block of rows.
BLOCK_PAIRS = 2**28

#: Number of pairs from which compiling the operations after the product of a block into one kernel pays off (it takes
#: seconds, once).
WORTH_COMPILING = 2**29

#: Largest share of the free memory for the weights of all pairs; if they need more, they are recomputed when used.
MEMORY_SHARE = 0.6

#: Squared distances of a block of rows to all points, written into an array; returns where they are unknown, or None.
Distances = Callable[[slice, Array], Array | None]


@dataclass(frozen=True, eq=False)
class DeviceDenseWeights:
    """Weights of all pairs, stored, or computed anew a block of rows at a time if they do not fit."""

    energy: float
    degree: Array
    matrix: Array | None
    blocks: Callable[[], Iterator[tuple[slice, Array]]]

    def laplacian(self, centers: Array) -> Array:
        if self.matrix is not None:
            return self.degree[:, None] * centers - self.matrix @ centers
        product = self.degree[:, None] * centers
        for rows, weights in self.blocks():
            product[rows] -= weights @ centers
        return product


@dataclass(frozen=True)
class DeviceCompletePairs(CompletePairs):
    """``CompletePairs`` on a torch device."""

    device: Any = None

    def spans(self, centers: Array) -> tuple[Index, Index, Real]:
        return super().spans(to_host(centers))

    def weigh(self, centers: Array, penalty: PairPenalty) -> PairWeights:
        import torch

        points = centers - centers.mean(0)
        norms = points.square().sum(1, keepdim=True)
        # One product gives the squared distances: (-2 u_i, |u_i|², 1) . (u_j, 1, |u_j|²).
        left = torch.cat([-2 * points, norms, torch.ones_like(norms)], dim=1)
        right = torch.cat([points, torch.ones_like(norms), norms], dim=1).T.contiguous()

        def distances(rows: slice, out: Array) -> None:
            torch.mm(left[rows], right, out=out)

        return self._weigh_blocks(distances, points, penalty)

    def weigh_partial(self, entries: Entries, penalty: PairPenalty, min_overlap: int) -> PairWeights:
        import torch

        values, seen = (torch.from_numpy(part).to(self.device) for part in (entries.centred, entries.seen))
        squares = values.square()
        n_features = float(np.count_nonzero(entries.column_counts))

        def distances(rows: slice, out: Array) -> Array:
            common = seen[rows] @ seen.T
            torch.mm(squares[rows], seen.T, out=out)
            out.addmm_(seen[rows], squares.T).addmm_(values[rows], values.T, alpha=-2)
            out.mul_(n_features / common.clip(1, None))
            unknown: Array = common < min_overlap
            return unknown

        return self._weigh_blocks(distances, values, penalty)

    def _weigh_blocks(self, distances: Distances, points: Array, penalty: PairPenalty) -> PairWeights:
        import torch

        n, dtype = self.n_points, points.dtype
        sizes = None if self.sizes is None else torch.from_numpy(self.sizes).to(self.device, dtype)
        compiled = self.device.type == "cuda" and n * n >= WORTH_COMPILING
        weigh = _compiled() if compiled else _weigh_block
        energies, degree = torch.empty((2, n), dtype=dtype, device=self.device)
        sides = row_blocks(n, n, BLOCK_PAIRS)
        fits = n * n * points.element_size() < MEMORY_SHARE * device_memory(self.device)
        stored = torch.empty((n if fits else sides[0].stop, n), dtype=dtype, device=self.device)

        def blocks() -> Iterator[tuple[slice, Array]]:
            for rows in sides:
                block = stored[rows] if fits else stored[: rows.stop - rows.start]
                unknown = distances(rows, block)
                energies[rows], degree[rows] = weigh(penalty, block, unknown, sizes, rows.start)
                yield rows, block

        for _ in blocks():
            pass
        return DeviceDenseWeights(float(energies.sum(dtype=torch.float64)), degree, stored if fits else None, blocks)


def _weigh_block(
    penalty: PairPenalty, s: Array, unknown: Array | None, sizes: Array | None, start: int
) -> tuple[Array, Array]:
    """Turn squared distances of the rows from `start` into weights, in place; return row sums of penalty and weight."""
    import torch

    rows = torch.arange(s.shape[0], device=s.device) + start
    own = rows[:, None] == torch.arange(s.shape[1], device=s.device)
    kept: Array = ~own if unknown is None else ~(own | unknown)
    distances: Array = torch.where(own, 0, s.clip(0, None))
    value, weight = penalty.value_and_weight(distances)
    value, weight = value * kept, weight * kept
    if sizes is not None:
        affinity = sizes[rows][:, None] * sizes
        value, weight = value * affinity, weight * affinity
    s.copy_(weight)
    return value.sum(1), weight.sum(1)


@cache
def _compiled() -> Callable[..., tuple[Array, Array]]:
    """Compile ``_weigh_block`` to one kernel, so that a block is read once and written once."""
    import torch

    compiled: Callable[..., tuple[Array, Array]] = torch.compile(_weigh_block, dynamic=True)
    return compiled
