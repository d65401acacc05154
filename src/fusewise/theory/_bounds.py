"""Bounds for one pair of points: the paper's gamma0, delta0, beta0 and beta1, and the count that a sharper one needs.

Two points can share a centre exactly when they differ by at most epsilon in every feature observed in both. So what
counts is the number n of features in which they differ by *more* than epsilon, the **separating features**: sharing
needs that none of them is observed twice, which has probability (1 - p0^2)^n. Proofs are in the theory page.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fusewise.kernels import Floats
from fusewise.theory import _checks as check


def gamma0(p0: ArrayLike, P: ArrayLike, *, log: bool = False) -> Floats:
    r"""gamma0 = (e/2)^(-p0^2 P / 2).

    Upper bound (Chernoff) for the probability that two points share fewer than half of the p0^2 P
    entries they are expected to share.

    Parameters
    ----------
    p0 : probability that an entry is observed, in [0, 1].
    P : number of features, at least 1.
    log : return the logarithm, which neither under- nor overflows.
    """
    p0, P = check.real("p0", p0, 0, 1), check.whole("P", P, 1)
    return check.result(-(p0**2) * P / 2 * (1 - np.log(2)), log)


def delta0(p0: ArrayLike, P: ArrayLike, kappa: ArrayLike, mu0: ArrayLike, *, log: bool = False) -> Floats:
    r"""delta0 = exp(-p0^2 P (1 - kappa^2)^2 / mu0^2).

    Upper bound for the probability that two points of different clusters can share a centre, given that
    they share at least p0^2 P / 2 observed entries.

    Parameters
    ----------
    p0 : probability that an entry is observed, in [0, 1].
    P : number of features, at least 1.
    kappa : epsilon sqrt(P) / delta in [0, 1): cluster size over cluster separation. The paper proves nothing for
        kappa >= 1.
    mu0 : largest coherence of a difference between points of different clusters, in [1, P].
    log : return the logarithm, which neither under- nor overflows.
    """
    p0, P = check.real("p0", p0, 0, 1), check.whole("P", P, 1)
    kappa, mu0 = check.real("kappa", kappa, 0, 1, open_high=True), check.real("mu0", mu0, 1, P)
    return check.result(-(p0**2) * P * ((1 - kappa**2) / mu0) ** 2, log)


def beta0(p0: ArrayLike, P: ArrayLike, kappa: ArrayLike, mu0: ArrayLike, *, log: bool = False) -> Floats:
    r"""beta0 = 1 - (1 - delta0)(1 - gamma0) = gamma0 + delta0 - gamma0 delta0.

    Upper bound for the probability that two points of different clusters can share a centre
    (the paper's pair lemma). Parameters as in `delta0`.
    """
    log_gamma, log_delta = gamma0(p0, P, log=True), delta0(p0, P, kappa, mu0, log=True)
    with np.errstate(divide="ignore"):  # p0 = 0: gamma0 = 1 and log(1 - gamma0) = -inf, as it should be
        log_rest = np.log(-np.expm1(log_gamma))
    return check.result(np.logaddexp(log_gamma, log_delta + log_rest), log)


def beta1(P: ArrayLike, kappa_prime: ArrayLike, *, log: bool = False) -> Floats:
    r"""beta1 = exp(-P (1 - 5/6 kappa'^2)^2 / (8 kappa'^2)).

    Complete data, points uniform in cubes of side epsilon: upper bound for the probability that two points of
    different clusters can share a centre.

    Parameters
    ----------
    P : number of features, at least 1.
    kappa_prime : epsilon sqrt(P) / c in [0, sqrt(6/5)), with c the smallest distance between cluster centres.
    log : return the logarithm.

    Notes
    -----
    The paper's proof uses a range that is too small for features whose centres differ by less than epsilon, which
    exist whenever kappa' >= 1. The value is nevertheless an upper bound, for which the theory page has another proof.
    """
    P = check.whole("P", P, 1)
    kappa_prime = check.real("kappa_prime", kappa_prime, 0, np.sqrt(6 / 5), open_high=True)
    with np.errstate(divide="ignore"):  # kappa' = 0: identical points, which never share across clusters
        return check.result(-P * (1 - 5 / 6 * kappa_prime**2) ** 2 / (8 * kappa_prime**2), log)


def separating_features(P: ArrayLike, kappa: ArrayLike, mu0: ArrayLike) -> Floats:
    r"""n = ceil(P (1 - kappa^2) / (mu0 - kappa^2)).

    The number of features in which two points of different clusters are *bound* to differ by more than
    epsilon, a whole number from 1 to P. With n such features,
    ||y||^2 <= n mu0 ||y||^2/P + (P - n) kappa^2 ||y||^2/P; solve for n. Parameters as in `delta0`.
    """
    P = check.whole("P", P, 1)
    kappa, mu0 = check.real("kappa", kappa, 0, 1, open_high=True), check.real("mu0", mu0, 1, P)
    least = P * (1 - kappa**2) / (mu0 - kappa**2)
    # A count that rounding lifted just above a whole number must not be rounded up: that would be optimistic.
    return check.unwrap(np.clip(np.ceil(least * (1 - 1e-12)), 1, P))
