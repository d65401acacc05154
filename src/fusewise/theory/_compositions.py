"""The paper's failure bounds eta0 and eta1: a sum over all compositions of M into K parts, without enumeration.

With W_k(s) the sum of prod_j C(M, r_j) beta^((s^2 - sum r_j^2)/2) over r_1 + ... + r_k = s,

    W_{k+1}(s) = sum_a W_k(a) C(M, s - a) beta^(a (s - a)).

For two clusters the sum has M - 1 terms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from fusewise.kernels import Floats
from fusewise.theory import _checks as check

#: Points of each of more than two clusters up to which the sum is computed, in a table of M x M numbers.
MOST_OF_MANY = 2000


def log_binomials(n: int) -> Floats:
    """log C(n, s) for s = 0 ... n; running sums are exact where differences of gammaln cancel."""
    s = np.arange(1, n // 2 + 1)
    head = np.concatenate([[0.0], np.cumsum(np.log((n - s + 1) / s))])
    return np.concatenate([head, head[: n + 1 - len(head)][::-1]])


def _log_mixed(M: int, K: int, loss: float) -> float:
    """log eta0 by the full recursion, counting only `mixed` compositions, of two or more parts that are not zero.

    Those with one such part are k C(M, s), so that no pure term is ever subtracted.
    """
    single, a = log_binomials(M), np.arange(M + 1)
    rest = a[:, None] - a  # s - a, the next part
    step = np.where(rest > 0, single[rest], -np.inf) - loss * a * rest
    mixed = np.full(M + 1, -np.inf)
    for k in range(1, K):  # the next part is zero, or it is not and those before hold a > 0
        before = np.where(a > 0, np.logaddexp(mixed, np.log(k) + single), -np.inf)
        mixed = np.logaddexp(mixed, logsumexp(before + step, axis=1))
    return float(mixed[M])


def _two_clusters(M: int, loss: float) -> float:
    """log sum_i beta^(i (M-i)) C(M, i)^2: the paper's explicit sum."""
    i = np.arange(1, M)
    return float(logsumexp(2 * log_binomials(M)[1:M] - loss * i * (M - i)))


def _log_eta0_scalar(log_beta: float, M: float, K: float) -> float:
    if K == 1 or np.isinf(log_beta):
        return -np.inf
    check.countable("M", M, check.MOST_POINTS if K == 2 else MOST_OF_MANY)
    return _two_clusters(int(M), -log_beta) if K == 2 else _log_mixed(int(M), int(K), -log_beta)


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
    It is computed for up to ten million points per cluster where K = 2, otherwise for up to 2000.

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
