"""The paper's failure bounds eta0 and eta1: a sum over all compositions of M into K parts, without enumeration.

With L = -log beta >= 0 and W_k(s) the sum of prod_j C(M, r_j) beta^((s^2 - sum r_j^2)/2) over r_1 + ... + r_k = s,

    W_{k+l}(s) = sum_a W_k(a) W_l(s - a) beta^(a (s - a)),

so W_k comes by repeated squaring. For large M and K > 2 the compositions are counted by their largest part instead: an
upper bound that is close where beta is small, as one part then holds nearly all M points.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from fusewise.kernels import Floats
from fusewise.theory import _checks as check

#: Points of each of more than two clusters up to which the sum is computed: a few milliseconds for each squaring.
EXACT_UP_TO = 256


@lru_cache(maxsize=64)
def log_binomials(n: int, count: int) -> Floats:
    """Return log C(n, s) for s = 0 ... count - 1; running sums are exact where gammaln differences cancel."""
    s = np.arange(1, min(count - 1, n // 2) + 1)
    head = np.concatenate([[0.0], np.cumsum(np.log((n - s + 1) / s))])
    return np.concatenate([head, head[n - np.arange(len(head), count)]])


@lru_cache(maxsize=8)
def _triangle(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """Return (a, s - a, mask) over s, a < size, with s - a clipped at 0 and mask -inf above the diagonal."""
    a = np.arange(size, dtype=np.intp)
    gap = a[:, None] - a
    return a, np.maximum(gap, 0), np.where(gap >= 0, 0.0, -np.inf)


def _couple(left: Floats, right: Floats, loss: float) -> Floats:
    """log sum_a exp(left[a] + right[s-a] - loss a (s-a)), for every s."""
    a, gap, mask = _triangle(len(left))
    terms = left + right[gap] - loss * a * gap + mask
    peak = terms.max(axis=1)
    safe = np.where(np.isfinite(peak), peak, 0.0)
    with np.errstate(divide="ignore"):  # by hand, as logsumexp takes three times as long
        return np.asarray(safe + np.log(np.exp(terms - safe[:, None]).sum(axis=1)))


def _log_mixed(M: int, K: int, loss: float) -> float:
    """log eta0 by the full recursion, counting only mixed compositions.

    A block of k parts holds `mixed` (two or more of them non-zero). One non-zero part is k C(M, s)
    and none is 1 at s = 0, so no pure term is ever subtracted.
    """
    single = np.append(-np.inf, log_binomials(M, M + 1)[1:])

    def join(k: int, mixed_k: Floats, m: int, mixed_m: Floats) -> tuple[int, Floats]:
        # Mixed: both blocks non-zero, or one of them empty and the other mixed already.
        some_k, some_m = np.logaddexp(mixed_k, np.log(k) + single), np.logaddexp(mixed_m, np.log(m) + single)
        both = _couple(some_k, some_m, loss)
        return k + m, np.asarray(np.logaddexp(both, np.logaddexp(mixed_k, mixed_m)))

    one = 1, np.full(M + 1, -np.inf)
    block = one
    for bit in f"{K:b}"[1:]:  # parts are doubled, and one is added where K has a binary digit 1
        block = join(*block, *block)
        block = join(*block, *one) if bit == "1" else block
    return float(block[1][M])


def _log_upper_bound(M: int, K: int, loss: float) -> float:
    """log of an upper bound of eta0, from the compositions whose largest part is M - s, s = 1 ... M - ceil(M/K).

    There are at most K C(M, M - s) C((K-1)M, s) of them (Vandermonde), each with at least max((M - s) s, M s / 2)
    inter-cluster edges, because sum m_j^2 <= (M - s) M.
    """
    last = M - -(-M // K)
    s = np.arange(1, last + 1, dtype=np.float64)
    count = np.log(K) + log_binomials(M, last + 1)[1:] + log_binomials((K - 1) * M, last + 1)[1:]
    return float(logsumexp(count - loss * np.maximum((M - s) * s, M * s / 2)))


def _log_eta0_scalar(log_beta: float, M: float, K: float) -> float:
    check.countable("M K", float(M) * float(K))
    size, parts, loss = int(M), int(K), -float(log_beta)
    if parts == 1 or np.isinf(loss):
        return -np.inf
    if parts == 2:  # the paper's explicit sum of beta^(i (M-i)) C(M, i)^2
        i = np.arange(1, size)
        return float(logsumexp(2 * log_binomials(size, size + 1)[1:size] - loss * i * (size - i)))
    return (_log_mixed if size <= EXACT_UP_TO else _log_upper_bound)(size, parts, loss)


def eta0(beta0: ArrayLike, M: ArrayLike, K: ArrayLike, *, log: bool = False) -> Floats:
    r"""eta0 = sum over m of beta0^((M^2 - sum_j m_j^2)/2) prod_j C(M, m_j).

    The sum runs over all m_1 + ... + m_K = M with at least two non-zero parts. The paper's bound for the
    probability that the l0 problem misses the true clusters, K clusters of M points each.

    Parameters
    ----------
    beta0 : probability that two points of different clusters can share a centre.
    M : points per cluster, at least 2.
    K : number of clusters.
    log : `beta0` and the result are logarithms, which neither under- nor overflow.

    Returns
    -------
    float or ndarray
        It is a bound, not a probability: it exceeds 1 where nothing is guaranteed, and may overflow to inf.

    Notes
    -----
    Exact to rounding for K = 2 and for M <= 256; otherwise an upper bound of the sum, close to it where eta0 is small.

    **As a probability of failure it rests on an independence that does not hold**: edges that share a point are
    positively correlated. See the theory page, and `sharp_failure` for a bound that is valid.
    """
    with np.errstate(divide="ignore", over="ignore"):
        log_beta0 = check.real("beta0", beta0, -np.inf, 0) if log else np.log(check.real("beta0", beta0, 0, 1))
        sizes, parts = check.whole("M", M, 2), check.whole("K", K, 1)
        values = np.vectorize(_log_eta0_scalar, otypes=[np.float64])(log_beta0, sizes, parts)
        return check.result(values, log)


def eta1(beta1: ArrayLike, M: ArrayLike, K: ArrayLike, *, log: bool = False) -> Floats:
    r"""eta1 = eta0 with beta1 in the place of beta0: complete data, uniform clusters. See `eta0`."""
    return eta0(beta1, M, K, log=log)


def eta0_approx(beta0: ArrayLike, M: ArrayLike) -> Floats:
    r"""eta0_approx = M^3 beta0^(M-1), an upper bound of eta0 for two clusters.

    Returns nan where log beta0 > 1/(M-1) + 2/(M-2) log(1/(M-1)), because there it bounds nothing. For M = 2 the sum has
    one term and the bound always holds.
    """
    beta0, M = check.real("beta0", beta0, 0, 1), check.whole("M", M, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = np.where(M > 2, 1 / (M - 1) - 2 / (M - 2) * np.log(M - 1), np.inf)
        value = np.exp(3 * np.log(M) + (M - 1) * np.log(beta0))
        return check.unwrap(np.where(np.log(beta0) <= limit, value, np.nan))
