"""Quadratic functions of the centres, in tensors on a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from fusewise.kernels.arrays import Array, to_host, total
from fusewise.kernels.graph_torch import block_inverses, block_products
from fusewise.observations import Quadratics


@dataclass(frozen=True, eq=False)
class DeviceQuadratics:
    """||A_i u - b_i||² = u' G_i u - 2 u' h_i + e_i: ``Quadratics`` in tensors.

    Attributes
    ----------
    gram, target, energy : N x r x r, N x r and N: the G_i, h_i and e_i.
    """

    gram: Array
    target: Array
    energy: Array

    separable = False
    is_complete = False

    @property
    def shape(self) -> tuple[int, int]:
        """(N, r)."""
        n, r = self.target.shape
        return n, r

    @cached_property
    def centred(self) -> Array:
        """h_i - G_i mean, with mean = (sum_i G_i)^+ sum_i h_i."""
        import torch

        mean = torch.linalg.pinv(self.gram.sum(0), hermitian=True) @ self.target.sum(0)
        return self.target - self.gram @ mean

    @cached_property
    def largest(self) -> float:
        """The largest entry of the G_i, which is on a diagonal."""
        return float(self.gram.diagonal(dim1=1, dim2=2).max())

    @property
    def host(self) -> Quadratics:
        """The same in NumPy arrays."""
        return Quadratics(to_host(self.gram), to_host(self.target), to_host(self.energy))

    def misfit(self, centers: Array) -> float:
        """sum_i ||A_i u_i - b_i||²."""
        return total((centers * (self.normal(centers) - 2 * self.target)).sum(1) + self.energy)

    def normal(self, centers: Array) -> Array:
        """G_i u_i."""
        return block_products(self.gram, centers)

    def solve(self, anchors: Array, pull: Array) -> Array:
        """argmin_u ||A_i u - b_i||² + t_i ||u - v_i||² = v_i + (G_i + t_i I)^+ (h_i - G_i v_i)."""
        return anchors + self.preconditioner(pull)(self.target - self.normal(anchors))

    def confine(self, centers: Array) -> Array:
        """Return the centres unchanged: there is no known range to project onto."""
        return centers

    def preconditioner(self, pull: Array) -> Callable[[Array], Array]:
        """(G_i + t_i I)^-1, as a function of the right-hand sides."""
        import torch

        floor = torch.finfo(pull.dtype).eps * max(1.0, self.largest)
        inverse = block_inverses(self.gram, torch.clip(pull, 100 * floor, None))
        return lambda right: block_products(inverse, right)
