"""Levels of categories whose probabilities are tilted along traits of the row, see ``traits``.

    p_kgl = q_kl exp(a_kl + b_l'z_g) / sum_m q_km exp(a_km + b_m'z_g),    b ~ N(0, I),

where a_kl makes the mean of p_kg over the rows of class k the smoothed shares q_kl of ``level_shares``. The slopes b
have their most likely values, and are integrated out by Laplace's method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fusewise.automatic.coordinates.level_blocks import Levels
from fusewise.automatic.models.level_shares import level_shares
from fusewise.kernels.types import Index, Mask, Real

#: The smallest probability of a level.
SMALLEST = 1e-12


class _Padded(NamedTuple):
    """Columns as wide as the widest of them: where the levels of each are, and which exist, J x L both."""

    where: Index
    exists: Mask

    @classmethod
    def of(cls, starts: Index, n_levels: int) -> _Padded:
        """Columns that begin at `starts`."""
        widths = np.diff(np.append(starts, n_levels))
        exists = np.arange(widths.max()) < widths[:, None]
        return cls(np.where(exists, starts[:, None] + np.arange(widths.max()), 0), exists)

    def wide(self, cells: Real, empty: float = 0.0) -> Real:
        """... x Q as ... x J x L."""
        return np.where(self.exists, cells[..., self.where], empty)

    def narrow(self, cells: Real) -> Real:
        """... x J x L as ... x Q."""
        out = np.empty((*cells.shape[:-2], int(self.exists.sum())))
        out[..., self.where[self.exists]] = cells[..., self.exists]
        return out


@dataclass
class TiltedLevels:
    """Probabilities of all levels, side by side, in K classes at G nodes.

    Attributes
    ----------
    unit : the value of a level that a row has, Q.
    base : the shares of the levels in their column, Q.
    starts, ordered : where each column begins, and whether its levels are ordered.
    columns : the same columns, equally wide.
    places : the nodes, G x R.
    logits : log q + a, K x Q; None before the first round.
    slopes : b, R x Q.
    """

    unit: Real
    base: Real
    starts: Index
    ordered: Mask
    columns: _Padded
    places: Real
    logits: Real | None
    slopes: Real

    @classmethod
    def of(cls, middle: Real, levels: Levels, places: Real) -> TiltedLevels:
        """Before the first round, from the means of the levels' columns."""
        widths = np.array([block.stop - block.start for block in levels], np.intp)
        starts = np.cumsum(widths) - widths
        ordered = np.array([block.ordered for block in levels], bool)
        unit = np.repeat(np.add.reduceat(middle, starts), widths)
        slopes = np.zeros((places.shape[1], len(middle)))
        return cls(unit, middle / unit, starts, ordered, _Padded.of(starts, len(middle)), places, None, slopes)

    @property
    def means(self) -> Real:
        """The means of the levels' columns, K x G x Q."""
        return self._chances() * self.unit

    def fit(self, held: Real, *, select: bool) -> tuple[float, int]:
        """A round, from sums over the rows of each class and node, K x G x Q.

        Returns the cost of q and b, and the number of columns with slopes.
        """
        counts = held / self.unit
        shares, cost = level_shares(counts.sum(axis=1), self.base, self.starts, self.ordered)
        if self.logits is None:
            self.logits = np.log(shares)
        self._newton(counts, shares)
        more, n_kept = self._settle(counts, shares, select=select)
        return cost + more, n_kept

    def _chances(self) -> Real:
        """p, K x G x Q."""
        assert self.logits is not None
        wide = self.columns.wide(self.logits[:, None] + self.places @ self.slopes, -np.inf)
        odds = np.exp(wide - wide.max(axis=-1, keepdims=True))
        return np.maximum(self.columns.narrow(odds / odds.sum(axis=-1, keepdims=True)), SMALLEST)

    def _newton(self, counts: Real, shares: Real) -> None:
        """A step of the slopes, then one of the classes' own shares towards those that are wanted."""
        assert self.logits is not None
        wide, p = self.columns.wide(counts), self.columns.wide(self._chances())
        totals = wide.sum(axis=-1)  # K x G x J
        n_columns, width = self.columns.exists.shape
        b = self.columns.wide(self.slopes).transpose(1, 0, 2).reshape(n_columns, -1)
        pull = np.einsum("gr,kgjl->jrl", self.places, wide - totals[..., None] * p).reshape(n_columns, -1)
        step = np.linalg.solve(self._curvature(totals, p), (pull - b)[..., None])[..., 0]
        b = (b + np.clip(step, -1, 1)).reshape(n_columns, -1, width)
        self.slopes = self.columns.narrow(b.transpose(1, 0, 2))
        p = self.columns.wide(self._chances(), 1.0)
        reached = np.einsum("kgj,kgjl->kjl", totals, p) / np.maximum(totals.sum(axis=1), SMALLEST)[..., None]
        gap = np.log(self.columns.wide(shares, 1.0)) - np.log(np.maximum(reached, SMALLEST))
        self.logits = self.logits + self.columns.narrow(np.clip(gap, -2, 2))

    def _curvature(self, totals: Real, p: Real) -> Real:
        """Minus the second derivatives of log-likelihood and prior in the slopes of each column, J x RL x RL."""
        (n_columns, width), r = p.shape[2:], self.places.shape[1]
        outer = np.einsum("gr,gs->grs", self.places, self.places)
        found = -np.einsum("kgj,grs,kgjl,kgjm->jrlsm", totals, outer, p, p, optimize=True)
        each = np.arange(width)
        found[:, :, each, :, each] += np.einsum("kgj,grs,kgjl->ljrs", totals, outer, p, optimize=True)
        return np.asarray(found.reshape(n_columns, r * width, r * width) + np.eye(r * width))

    def _settle(self, counts: Real, shares: Real, *, select: bool) -> tuple[float, int]:
        """The cost of the slopes, and the number of columns with any; with `select` only where they gain more."""
        wide, chances = self.columns.wide(counts), self._chances()
        odds = np.log(self.columns.wide(chances, 1.0)) - np.log(self.columns.wide(shares, 1.0))[:, None]
        gained = np.einsum("kgjl,kgjl->j", wide, odds)
        slopes = self.columns.wide(self.slopes)
        curvature = self._curvature(wide.sum(axis=-1), self.columns.wide(chances))
        cost = 0.5 * (np.square(slopes).sum(axis=(0, 2)) + np.linalg.slogdet(curvature)[1])
        kept = (gained > cost) | (not select)
        self.slopes = self.columns.narrow(np.where(kept[:, None], slopes, 0.0))
        return float(cost[kept].sum()), int(kept.sum())
