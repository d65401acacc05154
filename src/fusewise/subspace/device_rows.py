"""Rows of a table on a device: the sums of a pass of EM over them, and what they say about their coordinates.

Matrices of each row are held as one tensor for each entry (``kernels.lanes_torch``), so that sums over the rows are
products of matrices with the pattern of observed entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fusewise.kernels.arrays import Array, to_host
from fusewise.kernels.devices import device_memory
from fusewise.kernels import graph_torch
from fusewise.kernels.lanes_torch import factorised, squares_of
from fusewise.kernels.types import Real, Values
from fusewise.observations import Entries
from fusewise.subspace.projection import Subspace

#: Numbers of work space for a block of rows.
BLOCK = 2**28


class Expected(NamedTuple):
    """Sums over rows with z = (v, 1), the lower triangles of matrices row by row (see ``em``).

    Attributes
    ----------
    cross : P x (r + 1), sum of tau z y over the rows of a column.
    moments : T x P, sum of tau E[z z'] over the rows of a column.
    latent : T, the same over all rows.
    energy : sum of tau |y|².
    log_likelihood : of the observed entries.
    """

    cross: Real
    moments: Real
    latent: Real
    energy: float
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class RowsOnDevice:
    """A real table whose blocks of rows are processed on a device.

    Attributes
    ----------
    values, mask : those of ``Entries``: in tensors on the device if they fit into half of its memory, else on the host.
    device : the torch device.
    """

    values: Array
    mask: Array
    device: Any

    @classmethod
    def of(cls, table: Entries, device: Any) -> RowsOnDevice:
        """Copy a table to a device."""
        import torch

        values, mask = (torch.from_numpy(np.ascontiguousarray(part)) for part in (table.values, table.mask))
        if 2 * (values.nbytes + mask.nbytes) < device_memory(device):
            values, mask = values.to(device), mask.to(device)
        return cls(values, mask, device)

    def blocks(self, width: int) -> Iterator[tuple[slice, Array, Array]]:
        """Blocks of rows: which they are, their values, and 1 where observed, 0 where missing, in double precision.

        A row takes `width` numbers of work space besides its entries.
        """
        n, p = self.values.shape
        step = max(1, BLOCK // (width + 4 * p))
        for begin in range(0, n, step):
            rows = slice(begin, min(begin + step, n))
            yield rows, self.values[rows].to(self.device).double(), self.mask[rows].to(self.device).double()

    def expected(self, mean: Values, loadings: Values, noise: float, dof: float | None) -> Expected:
        """The sums of one pass of EM."""
        import torch

        r = loadings.shape[1]
        centre, weights = (torch.from_numpy(np.ascontiguousarray(part)).to(self.device) for part in (mean, loadings))
        rows, columns = np.tril_indices(r)
        outer = (weights[:, rows] * weights[:, columns]).T.contiguous()
        found: list[tuple[Array, ...]] = []
        for _, values, pattern in self.blocks(5 * (r + 1) ** 2):
            y = (values - centre).mul_(pattern)
            second, tau, log_density, squares = _posterior(y, pattern, weights, outer, noise, dof)
            cross = y.T @ second[-r - 1 :].T  # the last row of z z' is z
            found.append((cross, second @ pattern, second.sum(1), tau @ squares, log_density.sum()))
        cross, moments, latent, energy, log_likelihood = (to_host(sum(parts)) for parts in zip(*found, strict=True))
        return Expected(cross, moments, latent, float(energy), float(log_likelihood))

    def information(self, subspace: Subspace) -> tuple[Array, Array, Array]:
        """`precision_i`, `vector_i` (see ``projection.information``) and ``|x_i - mean|²`` on the entries."""
        import torch

        n, r = len(self.values), subspace.rank
        parts = (subspace.mean, subspace.basis, subspace.noises)
        mean, basis, noises = (torch.from_numpy(np.ascontiguousarray(part)).to(self.device) for part in parts)
        weighed = basis / noises[:, None]
        outer = (weighed[:, :, None] * basis[:, None, :]).reshape(-1, r * r)
        precision, vector = basis.new_empty((n, r, r)), basis.new_empty((n, r))
        squares = basis.new_empty(n)
        for rows, values, pattern in self.blocks(r * r):
            y = (values - mean).mul_(pattern)
            precision[rows] = (pattern @ outer).reshape(-1, r, r)
            vector[rows], squares[rows] = y @ weighed, y.square().sum(1)
        return precision, vector, squares


def coordinates_of(subspace: Subspace, precision: Array, vector: Array) -> tuple[Array, Array]:
    """``projection.coordinates`` in tensors, from ``information``."""
    import torch

    scales = torch.from_numpy(np.sqrt(subspace.variances)).to(vector.device)
    inverse = graph_torch.block_inverses(scales[:, None] * precision * scales, torch.ones_like(vector[:, 0]))
    covariance = inverse.mul_(scales).mul_(scales[:, None])
    return graph_torch.block_products(covariance, vector), covariance


def _posterior(
    y: Array, pattern: Array, weights: Array, outer: Array, noise: float, dof: float | None
) -> tuple[Array, Array, Array, Array]:
    """tau E[z z'] of each row (T x N), tau, the log-density and |y|²."""
    import torch

    r = weights.shape[1]
    right = list((y @ weights).T.contiguous())
    factor = factorised(outer @ pattern.T, noise)
    lower = factor.inverse()
    v = [sum((lower[max(a, b)][min(a, b)] * right[b] for b in range(1, r)), lower[a][0] * right[0]) for a in range(r)]
    counts, squares = pattern.sum(1), y.square().sum(1)
    distance = (squares - squares_of(factor.whitened(right))).clip(0) / noise
    log_det = factor.log_det + (counts - r) * math.log(noise)
    tau = torch.ones_like(squares) if dof is None else (dof + counts) / (dof + distance)
    weighed = [tau * each for each in v]
    second = [weighed[a] * v[b] + noise * lower[a][b] for a in range(r) for b in range(a + 1)]
    log_density = -0.5 * (counts * math.log(2 * math.pi) + log_det)
    if dof is None:
        log_density -= 0.5 * distance
    else:
        log_density += ((dof + counts) / 2).lgamma() - math.lgamma(dof / 2) - counts / 2 * math.log(dof / 2)
        log_density -= (dof + counts) / 2 * (distance / dof).log1p()
    return torch.stack([*second, *weighed, tau]), tau, log_density, squares
