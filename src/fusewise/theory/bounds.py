"""The paper's bounds for one pair of points: gamma0, delta0, beta0 (missing entries) and beta1 (none missing).

Each has a form named `log_...` that neither under- nor overflows; the plain form is its exponential.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fusewise.kernels.types import Floats
from fusewise.theory import _checks as check
from fusewise.theory._checks import SQRT_6_5


def log_gamma0(p0: ArrayLike, P: ArrayLike) -> Floats:
    r"""log gamma0 = -(p0^2 P / 2) (1 - log 2); see `gamma0`."""
    p0, P = check.real("p0", p0, 0, 1), check.whole("P", P, 1)
    return check.unwrap(-(p0**2) * P / 2 * (1 - np.log(2)))


def gamma0(p0: ArrayLike, P: ArrayLike) -> Floats:
    r"""gamma0 = (e/2)^(-p0^2 P / 2).

    Upper bound (Chernoff) for the probability that two points share fewer than half of the p0^2 P
    entries they are expected to share.

    Parameters
    ----------
    p0 : array_like in [0, 1]
        Probability that an entry is observed.
    P : array_like of int >= 1
        Number of features.

    Returns
    -------
    float or ndarray
        Broadcast over the arguments.
    """
    return np.exp(log_gamma0(p0, P))


def log_delta0(p0: ArrayLike, P: ArrayLike, kappa: ArrayLike, mu0: ArrayLike) -> Floats:
    r"""log delta0 = -p0^2 P (1 - kappa^2)^2 / mu0^2; see `delta0`."""
    p0, P = check.real("p0", p0, 0, 1), check.whole("P", P, 1)
    kappa, mu0 = check.real("kappa", kappa, 0, 1, open_high=True), check.between_one_and("mu0", mu0, P)
    return check.unwrap(np.asarray(-(p0**2) * P * ((1 - kappa**2) / mu0) ** 2))


def delta0(p0: ArrayLike, P: ArrayLike, kappa: ArrayLike, mu0: ArrayLike) -> Floats:
    r"""delta0 = exp(-p0^2 P (1 - kappa^2)^2 / mu0^2).

    Upper bound for the probability that two points of different clusters can share a centre, given that
    they share at least p0^2 P / 2 observed entries.

    Parameters
    ----------
    p0 : array_like in [0, 1]
        Probability that an entry is observed.
    P : array_like of int >= 1
        Number of features.
    kappa : array_like in [0, 1)
        epsilon sqrt(P) / delta: cluster size over cluster separation. The paper proves nothing for kappa >= 1.
    mu0 : array_like in [1, P]
        Largest coherence of a difference between points of different clusters.

    Returns
    -------
    float or ndarray
        Broadcast over the arguments.
    """
    return np.exp(log_delta0(p0, P, kappa, mu0))


def log_beta0(p0: ArrayLike, P: ArrayLike, kappa: ArrayLike, mu0: ArrayLike) -> Floats:
    r"""log beta0 = log(gamma0 + delta0 - gamma0 delta0); see `beta0`, and for the parameters `delta0`."""
    log_gamma, log_delta = log_gamma0(p0, P), log_delta0(p0, P, kappa, mu0)
    with np.errstate(divide="ignore"):  # p0 = 0: gamma0 = 1 and log(1 - gamma0) = -inf, as it should be
        log_rest = np.log(-np.expm1(log_gamma))
    return check.unwrap(np.asarray(np.logaddexp(log_gamma, log_delta + log_rest)))


def beta0(p0: ArrayLike, P: ArrayLike, kappa: ArrayLike, mu0: ArrayLike) -> Floats:
    r"""beta0 = 1 - (1 - delta0)(1 - gamma0).

    Upper bound for the probability that two points of different clusters can share a centre
    (the paper's pair lemma). Parameters as in `delta0`.
    """
    return np.exp(log_beta0(p0, P, kappa, mu0))


def log_beta1(P: ArrayLike, kappa_prime: ArrayLike) -> Floats:
    r"""log beta1 = -P (1 - 5/6 kappa'^2)^2 / (8 kappa'^2); see `beta1`."""
    P = check.whole("P", P, 1)
    kappa_prime = check.real("kappa_prime", kappa_prime, 0, SQRT_6_5, open_high=True)
    with np.errstate(divide="ignore"):  # kappa' = 0: identical points, which never share across clusters
        return check.unwrap(np.asarray(-P * (1 - 5 / 6 * kappa_prime**2) ** 2 / (8 * kappa_prime**2)))


def beta1(P: ArrayLike, kappa_prime: ArrayLike) -> Floats:
    r"""beta1 = exp(-P (1 - 5/6 kappa'^2)^2 / (8 kappa'^2)).

    Complete data, points uniform in cubes of side epsilon: upper bound for the probability that two points of
    different clusters can share a centre.

    Parameters
    ----------
    P : array_like of int >= 1
        Number of features.
    kappa_prime : array_like in [0, sqrt(6/5))
        epsilon sqrt(P) / c, with c the smallest distance between cluster centres.

    Notes
    -----
    The paper's proof uses a range that is too small for features whose centres differ by less than epsilon, which
    exist whenever kappa' >= 1. The value is nevertheless an upper bound: `sharp_beta1`, proved
    differently, lies below it.
    """
    return np.exp(log_beta1(P, kappa_prime))
