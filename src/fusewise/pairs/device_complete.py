"""All pairs, in tensors on a device, one block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from fusewise.kernels.arrays import Array
from fusewise.kernels.devices import device_memory
from fusewise.observations import Entries
from fusewise.pairs.complete import CompletePairs
from fusewise.pairs.weights import OnDevice, PairPenalty, Weighted

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
    """Weights of all pairs.

    Attributes
    ----------
    energy, degree : see ``Weighted``.
    matrix : N x N weights, or None if they do not fit.
    blocks : iterates over the weights, one block of rows at a time.
    """

    energy: float
    degree: Array
    matrix: Array | None
    blocks: Callable[[], Iterator[tuple[slice, Array]]]

    def sums(self, centers: Array) -> Array:
        """sum_j w_ij u_j."""
        if self.matrix is not None:
            return self.matrix @ centers
        summed = centers.clone()
        for rows, weights in self.blocks():
            summed[rows] = weights @ centers
        return summed

    def laplacian(self, centers: Array) -> Array:
        """L u = d_i u_i - sum_j w_ij u_j."""
        return self.degree[:, None] * centers - self.sums(centers)


@dataclass(frozen=True, eq=False)
class DeviceCompletePairs(OnDevice):
    """``CompletePairs`` on a device.

    Attributes
    ----------
    host : the pairs.
    device : the torch device.
    """

    host: CompletePairs
    device: Any

    def weigh(self, centers: Array, penalty: PairPenalty) -> Weighted:
        """Weigh every pair by the distance of its centres."""
        import torch

        points = centers - centers.mean(0)
        norms = points.square().sum(1, keepdim=True)
        # One product gives the squared distances: (-2 u_i, |u_i|², 1) . (u_j, 1, |u_j|²).
        left = torch.cat([-2 * points, norms, torch.ones_like(norms)], dim=1)
        right = torch.cat([points, torch.ones_like(norms), norms], dim=1).T.contiguous()

        def distances(rows: slice, out: Array) -> None:
            torch.mm(left[rows], right, out=out)

        return self._weigh(distances, points, penalty)

    def weigh_partial(self, entries: Entries, penalty: PairPenalty, min_overlap: int) -> Weighted:
        """Weigh every pair by its partial distance; a pair with too few common entries gets no weight."""
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

        return self._weigh(distances, values, penalty)

    def _weigh(self, distances: Distances, points: Array, penalty: PairPenalty) -> Weighted:
        import torch

        n, dtype = self.n_points, points.dtype
        sizes = None if self.host.sizes is None else torch.from_numpy(self.host.sizes).to(self.device, dtype)
        compiled = self.device.type == "cuda" and n * n >= WORTH_COMPILING
        weigh = _compiled() if compiled else _weigh_block
        energies, degree = torch.empty((2, n), dtype=dtype, device=self.device)
        step = min(n, max(1, BLOCK_PAIRS // n))
        fits = n * n * points.element_size() < MEMORY_SHARE * device_memory(self.device)
        stored = torch.empty((n if fits else step, n), dtype=dtype, device=self.device)

        def blocks() -> Iterator[tuple[slice, Array]]:
            for start in range(0, n, step):
                rows = slice(start, min(start + step, n))
                block = stored[rows] if fits else stored[: rows.stop - start]
                unknown = distances(rows, block)
                energies[rows], degree[rows] = weigh(penalty, block, unknown, sizes, start)
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
