"""The paper's failure bounds eta0 and eta1: a sum over all compositions of M into K parts, without enumeration.

With L = -log beta >= 0 and W_k(s) the sum of prod_j C(M, r_j) beta^((s^2 - sum r_j^2)/2) over r_1 + ... + r_k = s,

    W_{k+l}(s) = sum_a W_k(a) W_l(s - a) beta^(a (s - a)),

so W_k comes by repeated squaring. Where beta is small one part holds nearly all M points, and only compositions with
s = M - (largest part) small count; the others are bounded and the bound is added, so the result
is never below the true sum.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from fusewise.kernels import Floats
from fusewise.theory import _checks as check

# Up to here the whole triangle of sums is cheap (a few ms per squaring), so nothing is left out.
EXACT_UP_TO = 256
# e^-36 < 3e-16: a remainder this far below the leading term is lost in the rounding of the sum.
NEGLIGIBLE = -36.0


@lru_cache(maxsize=64)
def log_binomials(n: int, count: int) -> Floats:
    """Return log C(n, s) for s = 0 ... count - 1; running sums are exact where gammaln differences cancel."""
    s = np.arange(1, min(count - 1, n // 2) + 1)
    head = np.concatenate([[0.0], np.cumsum(np.log((n - s + 1) / s))])
    rest = np.arange(len(head), count)
    tail = head[n - rest] if len(rest) else np.empty(0)
    values = np.concatenate([head, tail])
    values.flags.writeable = False
    return values


@lru_cache(maxsize=8)
def _triangle(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """Return (a, s - a, mask) over s, a < size, with s - a clipped at 0 and mask -inf above the diagonal."""
    a = np.arange(size, dtype=np.intp)
    gap = a[:, None] - a[None, :]
    return a, np.maximum(gap, 0), np.where(gap >= 0, 0.0, -np.inf)


def _couple(left: Floats, right: Floats, loss: float) -> Floats:
    """log sum_a exp(left[a] + right[s-a] - loss a (s-a)), for every s."""
    a, gap, mask = _triangle(len(left))
    terms = left[None, :] + right[gap] - loss * a[None, :] * gap + mask
    peak = terms.max(axis=1)
    safe = np.where(np.isfinite(peak), peak, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(safe + np.log(np.exp(terms - safe[:, None]).sum(axis=1)))


def _log_power(base: Floats, k: int, loss: float) -> Floats:
    """log W_k(s) for s < len(base), from log W_1 = base, by repeated squaring (k >= 1)."""
    if k == 1:
        return base
    square = _log_power(_couple(base, base, loss), k // 2, loss)
    return _couple(square, base, loss) if k % 2 else square


def _log_mixed(M: int, K: int, loss: float) -> float:
    """log eta0 by the full recursion, counting only mixed compositions.

    A block of k parts holds `mixed` (two or more of them non-zero). One non-zero part is k C(M, s)
    and none is 1 at s = 0, so no pure term is ever subtracted.
    """
    single = log_binomials(M, M + 1).copy()
    single[0] = -np.inf

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


def _log_remainders(M: int, K: int, loss: float) -> Floats:
    """log of an upper bound for the compositions whose largest part is M - s or smaller, for s = 1 ... M - ceil(M/K).

    Those with largest part a = M - s: at most K C(M, a) C((K-1)M, s) of them (Vandermonde), each with
    at least max(a s, M s / 2) inter-cluster edges, because sum m_j^2 <= a M.
    """
    last = M - -(-M // K)
    s = np.arange(1, last + 1, dtype=np.float64)
    count = np.log(K) + log_binomials(M, last + 1)[1:] + log_binomials((K - 1) * M, last + 1)[1:]
    terms = count - loss * np.maximum((M - s) * s, M * s / 2)
    return np.asarray(np.logaddexp.accumulate(terms[::-1])[::-1])


def _log_leading(M: int, K: int, loss: float, depth: int) -> float:
    """log of the sum over compositions whose largest part is M - s, 1 <= s <= depth < M/2 (it is then unique)."""
    s = np.arange(depth + 1)
    rest = _log_power(log_binomials(M, depth + 1), K - 1, loss)
    terms = np.log(K) + log_binomials(M, depth + 1) + rest - loss * (M - s) * s
    return float(logsumexp(terms[1:]))


def _two_clusters(M: int, loss: float) -> float:
    """log sum_i beta^(i (M-i)) C(M, i)^2: the paper's explicit sum."""
    i = np.arange(1, M)
    return float(logsumexp(2 * log_binomials(M, M + 1)[1:M] - loss * i * (M - i)))


def _log_eta0_scalar(log_beta: float, M: float, K: float) -> float:
    check.countable("M K", float(M) * float(K))
    size, parts, loss = int(M), int(K), -float(log_beta)
    if parts == 1 or np.isinf(loss):
        return -np.inf
    if parts == 2:
        return _two_clusters(size, loss)
    tails = _log_remainders(size, parts, loss)
    first = np.log(parts) + np.log(parts - 1) + 2 * np.log(size) - loss * (size - 1)
    beyond = np.flatnonzero(tails < first + NEGLIGIBLE)
    depth_limit = min((size - 1) // 2, EXACT_UP_TO // 2)
    if len(beyond) and 1 <= beyond[0] <= depth_limit:
        return _log_leading(size, parts, loss, int(beyond[0]))
    if size <= EXACT_UP_TO:
        return _log_mixed(size, parts, loss)
    upper = np.logaddexp(_log_leading(size, parts, loss, depth_limit), tails[depth_limit])
    everything = log_binomials(parts * size, size + 1)[size]  # beta = 1: every M-subset of the K M points
    return float(min(upper, everything))


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
    Exact to rounding for K = 2, for M <= 256, and wherever the terms left out are below 1e-15 of the sum (which
    covers every case with eta0 < 1 and more). Otherwise, where eta0 is astronomically large, the value
    is an upper bound of the sum.

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


def eta0_approx_valid(beta0: ArrayLike, M: ArrayLike) -> NDArray[np.bool_]:
    r"""log beta0 <= 1/(M-1) + 2/(M-2) log(1/(M-1)): where `eta0_approx` bounds eta0 for K = 2.

    For M = 2 the sum has one term and the bound always holds.
    """
    beta0, M = check.real("beta0", beta0, 0, 1), check.whole("M", M, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = np.where(M > 2, 1 / (M - 1) - 2 / (M - 2) * np.log(M - 1), np.inf)
        return np.asarray(np.log(beta0) <= limit)


def eta0_approx(beta0: ArrayLike, M: ArrayLike) -> Floats:
    r"""eta0_approx = M^3 beta0^(M-1), an upper bound of eta0 for two clusters.

    Returns nan where its condition (`eta0_approx_valid`) fails, because there it bounds nothing.
    """
    beta0, M = check.real("beta0", beta0, 0, 1), check.whole("M", M, 2)
    with np.errstate(divide="ignore"):
        value = np.exp(3 * np.log(M) + (M - 1) * np.log(beta0))
    return check.unwrap(np.where(eta0_approx_valid(beta0, M), value, np.nan))
