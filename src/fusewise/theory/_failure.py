"""Our bound for the whole partition: how probable it is that the l0 problem misses the true clusters.

The paper multiplies the probabilities of edges that share points. Such edges are positively correlated (a row with few
entries can join everybody), so the product is not an upper bound. If the truth is not the only optimum, some group Q
mixes clusters and is *bad*: |Q|^2 >= sum_k m_k M_k, where m_k of its points come from cluster k, of size M_k. The
expected number of choices of t points of it outside its largest part and r points inside that can all share a centre
is bounded by the features alone, for any t and r, and Markov's inequality turns it into a probability. Proofs: the
theory page.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp

from fusewise.kernels import Floats
from fusewise.support import InputError
from fusewise.theory import _checks as check

ONE_BY_ONE = 32  # outsider counts up to here have their own term; beyond, they share one per geometric interval
INTERVALS, T_GRID, R_GRID = 24, 12, 32


def _sizes(sizes: ArrayLike) -> Floats:
    array = np.atleast_1d(check.whole("sizes", sizes, 1))
    if array.ndim != 1 or not len(array):
        raise InputError(f"sizes must be a list of numbers, one for each cluster; its shape is {array.shape}")
    return array


def _log_choose(n: ArrayLike, r: ArrayLike) -> Floats:
    n, r = np.asarray(n, dtype=np.float64), np.asarray(r, dtype=np.float64)
    value = gammaln(n + 1) - gammaln(r + 1) - gammaln(np.maximum(n - r, 0) + 1)
    return np.where(r > n, -np.inf, value)


def log_pair_failure(log_pair: ArrayLike, sizes: ArrayLike) -> Floats:
    r"""log [ beta sum_{k<l} M_k M_l min(1, 2 / ceil(M_min/2)) ], from log beta, any bound for one pair.

    The plain sum: no pair across clusters can share, so the truth is the only optimum. The factor: a bad
    group has a point that can share with ceil(M_min/2) points of other clusters (Markov).
    """
    M = _sizes(sizes)
    pairs = (M.sum() ** 2 - (M**2).sum()) / 2
    with np.errstate(divide="ignore"):
        count = np.log(pairs) + min(0.0, float(np.log(2 / np.ceil(M.min() / 2))))
    return check.unwrap(np.asarray(log_pair) + count)


def log_biclique(p0: ArrayLike, n: float, a: ArrayLike, b: ArrayLike) -> Floats:
    r"""n log(q^a + q^b - q^(a+b)), q = 1 - p0: bound for a points to share with each of b points of other clusters.

    In a feature that separates all of them, sharing needs that no point on one of the two sides observed
    it. Every pair across has at least n separating features; by Hoelder's inequality the worst case is when
    they are the same for all pairs, so nothing is lost there.
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_q = np.log1p(-np.asarray(p0, dtype=np.float64))
        either = np.logaddexp(a * log_q, b * log_q + np.log(-np.expm1(a * log_q)))
    return check.unwrap(n * np.minimum(either, 0.0))


def least_majority(s: ArrayLike, size: float, smallest_other: float, K: int) -> Floats:
    r"""Least m with m^2 + m (2s - M_l) + s^2 - s M_min >= 0 and m >= s/(K-1).

    A bad group with s outsiders whose largest part comes from cluster l (of ``size`` points) has at least m points
    of l. For equal clusters this is M - s, or s/(K-1) if larger.
    """
    s = np.asarray(s, dtype=np.float64)
    start = np.maximum(1.0, np.ceil(s / (K - 1)))
    half, constant = s - size / 2, s**2 - s * smallest_other
    root = -half + np.sqrt(np.maximum(half**2 - constant, 0.0))
    bad_at_start = start**2 + 2 * half * start + constant >= 0
    # Rounding may only make m smaller: that is the cautious side.
    return np.where(bad_at_start, start, np.maximum(start, np.ceil(root - 1e-6)))


@lru_cache(maxsize=256)
def _choices(size: int, smallest_other: int, n_other: int, K: int) -> tuple[Floats, Floats, Floats]:
    """(t, r, log count) for each interval of outsider counts s and each pair on the grids; independent of p0."""
    most = min(n_other, (K - 1) * size)
    last = min(most, 2 * size)
    edges = np.unique(
        np.concatenate([np.arange(1, min(ONE_BY_ONE, last) + 1), np.geomspace(1, last, INTERVALS).round()])
    ).astype(int)
    majority = least_majority(np.arange(1, last + 1), size, smallest_other, K)
    m = np.minimum.reduceat(majority, edges - 1)
    # The last interval also stands for all s above ``last``, where only m >= s/(K-1) is known.
    m[-1] = max(1.0, min(m[-1], np.ceil(last / (K - 1)))) if most > last else m[-1]
    edges, m = edges[m <= size], m[m <= size]
    s = edges[:, None, None].astype(np.float64)
    t = np.round(s ** np.linspace(0, 1, T_GRID)[None, :, None])
    r = np.round(m[:, None, None] ** np.linspace(0, 1, R_GRID)[None, None, :])
    count = _log_choose(n_other, t) + _log_choose(size, r) - _log_choose(s, t) - _log_choose(m[:, None, None], r)
    return t, r, count


def _log_biclique_failure(p0: float, n: float, M: Floats) -> float:
    """log sum_l sum_s min_{t<=s, r<=m} C(N - M_l, t) C(M_l, r) / (C(s, t) C(m, r)) pi(t, r)."""
    sizes = sorted(int(size) for size in M)
    terms = []
    for size, copies in Counter(sizes).items():
        smallest_other = sizes[1] if size == sizes[0] else sizes[0]
        t, r, count = _choices(size, smallest_other, sum(sizes) - size, len(sizes))
        if len(t):
            best = (count + log_biclique(p0, n, t, r)).min(axis=(1, 2))
            terms.append(np.log(copies) + logsumexp(best))
    return float(logsumexp(terms)) if terms else -np.inf


def sharp_failure(p0: ArrayLike, separating: float, sizes: ArrayLike, *, log: bool = False) -> Floats:
    r"""min(1, pairs, groups): bound for the probability that the l0 problem misses the true clusters.

    ``pairs`` is beta sum_{k<l} M_k M_l min(1, 2 / ceil(M_min/2)) with beta = (1 - p0^2)^n; ``groups`` is the sum over
    bad groups (see the theory page). For well sampled data it is about (K-1) N (1-p0)^n, a factor K - 1 above
    `blind_failure`.

    Parameters
    ----------
    p0 : probability that an entry is observed, in [0, 1].
    separating : n, the number of features in which any two points of different clusters differ by more than epsilon
        (`separating_features`, or counted on data by `ClusterGeometry`).
    sizes : cluster sizes, equal or not.
    log : return the logarithm, which is above 0 where nothing is guaranteed.
    """
    p0, M = check.real("p0", p0, 0, 1), _sizes(sizes)
    n = float(check.whole("separating", separating, 0))
    check.countable("sizes", float(M.sum()))
    if len(M) == 1 or n == 0:
        failure = np.full(p0.shape, -np.inf if len(M) == 1 else np.inf)
    else:
        with np.errstate(divide="ignore"):
            pairs = log_pair_failure(n * np.log1p(-(p0**2)), M)
        groups = np.reshape([_log_biclique_failure(float(p), n, M) for p in p0.ravel()], p0.shape)
        failure = np.minimum(pairs, groups)
    return check.result(failure if log else np.minimum(failure, 0.0), log)


def blind_failure(p0: ArrayLike, separating: ArrayLike, n_points: ArrayLike) -> Floats:
    r"""1 - (1 - (1 - p0)^n)^N: failure that is certain, on noiseless, equal clusters n features apart.

    n is `separating` and N is `n_points`.
    With this probability some row observes none of the n separating features, and could belong to either cluster:
    the l0 problem then has a better solution than the truth, and other methods can only guess. A lower bound, to be
    held against `sharp_failure` (above it) and the paper's eta0 (below it for large M: Theorem 2.4 is false as stated).
    """
    p0 = check.real("p0", p0, 0, 1)
    n, N = check.whole("separating", separating, 0), check.whole("n_points", n_points, 1)
    with np.errstate(divide="ignore", over="ignore"):
        return check.unwrap(-np.expm1(N * np.log1p(-np.power(1 - p0, n))))
