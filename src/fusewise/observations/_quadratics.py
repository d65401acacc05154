"""Observations given by quadratic functions of the centres."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fusewise.kernels import Array, Index, block_inverses, block_products, library, rounding_unit, to_host, total


@dataclass(frozen=True, eq=False)
class Quadratics:
    """||A_i u - b_i||² = u' G_i u - 2 Re(u' h_i) + e_i, with G_i = A_i' A_i, h_i = A_i' b_i, e_i = ||b_i||².

    Entries in a subspace have this form: with u = mean + Q v, the misfit of row i on its observed entries is such a
    quadratic in the r coordinates v, and G_i = Q_I' Q_I measures how well the row determines them. Arrays are NumPy
    arrays, or (if real) tensors on a device.
    """

    gram: Array  # N x r x r, the G_i
    target: Array  # N x r, the h_i
    energy: Array  # N, the e_i

    separable = False

    @property
    def shape(self) -> tuple[int, int]:
        return tuple(self.target.shape)

    @cached_property
    def mean(self) -> Array:
        """The common centre that fits all points best: (sum_i G_i)^+ sum_i h_i."""
        return library(self.gram).linalg.pinv(self.gram.sum(0), hermitian=True) @ self.target.sum(0)

    @cached_property
    def centred(self) -> Array:
        """h_i - G_i mean: the pull of each point away from the mean."""
        return self.target - self.gram @ self.mean

    @cached_property
    def largest(self) -> float:
        """The largest entry of the G_i, by modulus."""
        return float(abs(self.gram).max()) if len(self.gram) else 0.0

    @property
    def on_host(self) -> Quadratics:
        """The same in NumPy arrays."""
        return Quadratics(to_host(self.gram), to_host(self.target), to_host(self.energy))

    def take(self, rows: Index) -> Quadratics:
        return Quadratics(self.gram[rows], self.target[rows], self.energy[rows])

    def merge(self, groups: Index, n_groups: int) -> Quadratics:
        """Replace each group by one point: quadratics of a common centre add up."""
        gram = np.zeros((n_groups, *self.gram.shape[1:]), self.gram.dtype)
        target = np.zeros((n_groups, self.shape[1]), self.target.dtype)
        np.add.at(gram, groups, self.gram)
        np.add.at(target, groups, self.target)
        return Quadratics(gram, target, np.bincount(groups, self.energy, minlength=n_groups).astype(self.energy.dtype))

    def misfit(self, centers: Array) -> float:
        return total((centers.conj() * (self.normal(centers) - 2 * self.target)).real.sum(1) + self.energy)

    def normal(self, centers: Array) -> Array:
        """G_i u_i."""
        return block_products(self.gram, centers)

    def solve(self, anchors: Array, pull: Array) -> Array:
        """argmin_u ||A_i u - b_i||² + t_i ||u - v_i||² = v_i + (G_i + t_i I)^+ (h_i - G_i v_i)."""
        return anchors + self.preconditioner(pull)(self.target - self.normal(anchors))

    def preconditioner(self, pull: Array) -> Callable[[Array], Array]:
        """(G_i + t_i I)^-1, as a function of the right-hand sides."""
        # Without a pull, unobserved directions are undetermined: a tiny pull keeps the system regular.
        floor = rounding_unit(pull) * max(1.0, self.largest)
        inverse = block_inverses(self.gram, library(pull).clip(pull, 1000 * floor, None))
        return lambda right: block_products(inverse, right)
