"""Probabilities of the levels of a category in each component, and the evidence for them.

With n_kl rows of component k at level l, the probabilities q_k have a Dirichlet prior around the shares b_l of the
levels in the whole column, of a pseudo-entries:

    q_k ~ Dirichlet(a b),    E[q_kl | n] = (n_kl + a b_l) / (n_k + a),    n_k = sum_l n_kl,
    log p(n) = sum_k log G(a) - log G(a + n_k) + sum_l log G(a b_l + n_kl) - log G(a b_l).

Each column has the a with most evidence. If a column tells nothing about the components that is infinity: all of them
have the shares b, and the column costs nothing. So columns are selected by degrees, and a level that a small component
has not shown yet keeps a probability that its column justifies.

Ordered levels, with ranks s_l of mean 0 and variance 1 under b, may also have a prior around shares that are shifted
along the order, by one number for each component (the row effects of an association model):

    b_kl = b_l exp(t_k s_l) / sum_m b_m exp(t_k s_m),    t_k ~ N(0, 1),

if this has more evidence. t_k is its most likely value, and is integrated out by Laplace's method.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from fusewise.kernels.types import Index, Mask, Real

#: The numbers of pseudo-entries compared; beyond them infinitely many.
PSEUDO_ENTRIES = 4.0 ** np.arange(-0.5, 4)
#: Rounds of Newton's method for t_k.
ROUNDS = 8


class _Counts(NamedTuple):
    """n_kl of some columns side by side, K x Q; b, Q; where each column begins."""

    held: Real
    base: Real
    starts: Index

    @property
    def widths(self) -> Index:
        """Number of levels of each column."""
        return np.diff(np.append(self.starts, len(self.base)))

    def sums(self, cells: Real) -> Real:
        """Sums over the levels of each column."""
        return np.asarray(np.add.reduceat(cells, self.starts, axis=-1))

    def spread(self, of_columns: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Repeat a value of each column for each of its levels."""
        return np.repeat(of_columns, self.widths, axis=-1)

    def some(self, columns: Mask) -> _Counts:
        """Some of the columns."""
        where, widths = self.spread(columns), self.widths[columns]
        return _Counts(self.held[:, where], self.base[where], np.cumsum(widths) - widths)


def level_shares(
    counts: Real, base: Real, starts: Index, ordered: Mask | None = None, entries: float | None = None
) -> tuple[Real, float]:
    """E[q | n] of all columns, K x Q, and what not knowing q costs: log p(n | E[q | n]) - log p(n).

    Parameters
    ----------
    counts : n_kl of all columns side by side, K x Q.
    base : b of all columns, Q, positive.
    starts : where each column begins.
    ordered : whether the levels of each column are ordered; None: of none.
    entries : a, to use in every column instead of the one with most evidence, whatever the order.
    """
    columns = _Counts(counts, base, starts)
    shares, evidence = _smoothed(columns, base[None], entries)
    if entries is None and ordered is not None and ordered.any():
        some = columns.some(ordered)
        shifted, cost = _shifted(some)
        other, gained = _smoothed(some, shifted, None)
        gained = gained - cost
        better = gained > evidence[ordered]
        where = np.flatnonzero(columns.spread(ordered))[some.spread(better)]
        shares[:, where] = other[:, some.spread(better)]
        evidence[ordered] = np.maximum(gained, evidence[ordered])
    return shares, float(np.sum(counts * np.log(shares)) - evidence.sum())


def _smoothed(columns: _Counts, prior: Real, entries: float | None) -> tuple[Real, Real]:
    """E[q | n] and log p(n) of each column, with a prior around given shares, K x Q or 1 x Q."""
    held, sizes = columns.held, columns.sums(columns.held)
    compared = PSEUDO_ENTRIES if entries is None else np.array([entries])
    evidence = []
    for a in compared:
        inside = np.sum(gammaln(a * prior + held) - gammaln(a * prior), axis=0)
        evidence.append(columns.sums(inside) - np.sum(gammaln(a + sizes) - gammaln(a), axis=0))
    best, most = compared[np.argmax(evidence, axis=0)], np.max(evidence, axis=0)
    a = columns.spread(best)
    shares = (held + a * prior) / (columns.spread(sizes) + a)
    if entries is not None:
        return shares, most
    certain = columns.sums(np.sum(held * np.log(prior), axis=0))  # a is infinite
    return np.where(columns.spread(most > certain), shares, prior), np.maximum(most, certain)


def _shifted(columns: _Counts) -> tuple[Real, Real]:
    """b_kl, and what not knowing t costs each column."""
    base, sizes = columns.base, columns.sums(columns.held)
    ranks: Real = np.arange(len(base), dtype=float) - np.repeat(columns.starts, columns.widths)
    ranks = ranks - columns.spread(columns.sums(base * ranks))
    ranks = ranks / np.sqrt(columns.spread(columns.sums(base * ranks**2)))
    reached = columns.sums(columns.held * ranks)
    t = np.zeros_like(sizes)
    for _ in range(ROUNDS):
        shares = _shift(columns, ranks, t)
        mean = columns.sums(shares * ranks)
        curvature = 1 + sizes * (columns.sums(shares * ranks**2) - mean**2)
        t = t + np.clip((reached - sizes * mean - t) / curvature, -1, 1)
    return _shift(columns, ranks, t), 0.5 * np.sum(t**2 + np.log(curvature), axis=0)


def _shift(columns: _Counts, ranks: Real, t: Real) -> Real:
    exponents = columns.spread(t) * ranks
    tilted = columns.base * np.exp(np.clip(exponents, -30, 30))
    return np.asarray(np.maximum(tilted / columns.spread(columns.sums(tilted)), 1e-12))
