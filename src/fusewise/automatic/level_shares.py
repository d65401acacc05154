"""Probabilities of the levels of a category in each component, and the evidence for them.

With n_kl rows of component k at level l, the probabilities q_k have a Dirichlet prior around the shares b_l of the
levels in the whole column, of a pseudo-entries:

    q_k ~ Dirichlet(a b),    E[q_kl | n] = (n_kl + a b_l) / (n_k + a),    n_k = sum_l n_kl,
    log p(n) = sum_k log G(a) - log G(a + n_k) + sum_l log G(a b_l + n_kl) - log G(a b_l).

Each column has the a with most evidence. If a column tells nothing about the components that is infinity: all of them
have the shares b, and the column costs nothing. So columns are selected by degrees, and a level that a small component
has not shown yet keeps a probability that its column justifies.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from fusewise.kernels.types import Index, Real

#: The numbers of pseudo-entries compared; beyond them infinitely many.
PSEUDO_ENTRIES = 4.0 ** np.arange(-0.5, 4)


def level_shares(counts: Real, base: Real, starts: Index, entries: float | None = None) -> tuple[Real, float]:
    """E[q | n] of all columns, K x Q, and what not knowing q costs: log p(n | E[q | n]) - log p(n).

    Parameters
    ----------
    counts : n_kl of all columns side by side, K x Q.
    base : b of all columns, Q, positive.
    starts : where each column begins.
    entries : a, to use in every column instead of the one with most evidence.
    """
    widths = np.diff(np.append(starts, len(base)))
    sizes = np.add.reduceat(counts, starts, axis=1)
    compared = PSEUDO_ENTRIES if entries is None else np.array([entries])
    evidence = np.array([_evidence(counts, sizes, a, base, starts) for a in compared])
    common = np.add.reduceat(counts.sum(axis=0) * np.log(base), starts)
    best, most = compared[evidence.argmax(axis=0)], evidence.max(axis=0)
    own = (most > common) | (entries is not None)
    a = np.repeat(best, widths)
    shares = np.where(np.repeat(own, widths), (counts + a * base) / (np.repeat(sizes, widths, axis=1) + a), base)
    return shares, float(np.sum(counts * np.log(shares)) - np.where(own, most, common).sum())


def _evidence(counts: Real, sizes: Real, a: float, base: Real, starts: Index) -> Real:
    """log p(n) of each column, with a pseudo-entries."""
    inside = np.sum(gammaln(a * base + counts) - gammaln(a * base), axis=0)
    return np.asarray(np.add.reduceat(inside, starts) - np.sum(gammaln(a + sizes) - gammaln(a), axis=0))
