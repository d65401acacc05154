"""The paper's quantities: against its formulas, brute force, and themselves at the extremes."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from fusewise import theory


def brute_eta0(beta: float, M: int, K: int) -> Fraction:
    """The sum as the paper writes it, in exact arithmetic, over every composition."""
    total = Fraction(0)
    for m in itertools.product(range(M + 1), repeat=K):
        if sum(m) == M and sum(part > 0 for part in m) >= 2:
            edges = (M * M - sum(part * part for part in m)) // 2
            total += Fraction(beta) ** edges * math.prod(math.comb(M, part) for part in m)
    return total


def test_pair_quantities_are_the_formulas():
    p0, P, kappa, mu0 = 0.4, 50, 0.6, 1.5
    gamma = (math.e / 2) ** (-(p0**2) * P / 2)
    delta = math.exp(-(p0**2) * P * (1 - kappa**2) ** 2 / mu0**2)
    assert theory.gamma0(p0, P) == pytest.approx(gamma, rel=1e-13)
    assert theory.delta0(p0, P, kappa, mu0) == pytest.approx(delta, rel=1e-13)
    assert theory.beta0(p0, P, kappa, mu0) == pytest.approx(1 - (1 - gamma) * (1 - delta), rel=1e-12)
    assert theory.beta1(50, 0.9) == pytest.approx(math.exp(-50 * (1 - 5 / 6 * 0.81) ** 2 / (8 * 0.81)), rel=1e-13)
    assert theory.beta1(50, 0.0) == 0


@pytest.mark.parametrize("M", [2, 3, 7, 20, 60, 100])
def test_eta0_two_clusters_is_the_explicit_sum(M):
    for beta in (2.0**-30, 0.125, 0.5, 0.75, 0.9375):  # dyadic: exact fractions stay short
        exact = sum(Fraction(beta) ** (i * (M - i)) * math.comb(M, i) ** 2 for i in range(1, M))
        if exact > Fraction(1, 10**300):
            assert abs(Fraction(float(theory.eta0(beta, M, 2))) / exact - 1) < 1e-12


@pytest.mark.parametrize("K", [3, 4])
@pytest.mark.parametrize("M", range(2, 9))
def test_eta0_many_clusters_is_brute_force(M, K):
    for beta in (1e-8, 0.01, 0.3, 0.6, 0.9, 1.0):
        exact = brute_eta0(beta, M, K)
        assert abs(Fraction(float(theory.eta0(beta, M, K))) / exact - 1) < 1e-12


def test_eta0_approx_bounds_eta0_where_its_condition_holds():
    for M in [*range(2, 40), 75, 150, 400]:
        limit = 0.0 if M == 2 else 1 / (M - 1) - 2 / (M - 2) * math.log(M - 1)
        beta = np.exp(min(limit, 0.0) - np.linspace(0, 4, 60))
        approximate = theory.eta0_approx(beta, M)
        valid = np.isfinite(approximate)
        assert valid[1:].all()
        assert np.all(theory.eta0(beta, M, 2)[valid] <= approximate[valid] * (1 + 1e-12))
    assert np.isnan(theory.eta0_approx(0.99, 50))


def test_monotone_as_the_paper_states():
    p0, kappa, mu0 = np.linspace(0.01, 1, 60), np.linspace(0, 0.99, 60), np.linspace(1, 50, 60)
    assert np.all(np.diff(theory.gamma0(p0, 50)) < 0)
    assert np.all(np.diff(theory.gamma0(0.4, np.arange(1, 60))) < 0)
    assert np.all(np.diff(theory.beta0(p0, 50, 0.4, 1.5)) < 0)
    assert np.all(np.diff(theory.beta0(0.4, 50, kappa, 1.5)) > 0)
    assert np.all(np.diff(theory.beta0(0.4, 50, 0.4, mu0)) > 0)
    assert np.all(np.diff(theory.beta1(50, np.linspace(0.1, 1.09, 60))) > 0)
    betas = np.linspace(-3, 0, 40)
    for M, K in ((30, 2), (30, 4), (200, 7)):
        assert np.all(np.diff(theory.eta0(betas, M, K, log=True)) >= -1e-9)
        assert np.all(np.diff(theory.eta0(-1.5, M, np.arange(2, 12), log=True)) > 0)
    assert np.all(np.diff(theory.eta0(-1.5, np.arange(10, 80), 3, log=True)) < 0)


def test_extremes_do_not_overflow():
    p0 = np.array([1e-4, 1e-2, 0.5, 1.0])
    for P in (1, 50, 100_000):
        log_beta = theory.beta0(p0, P, 0.5, 1.0, log=True)
        assert np.all(np.isfinite(log_beta))
        assert np.all(log_beta <= 0)
        for M, K in ((2, 50), (400, 5), (100_000, 2)):
            log_eta = theory.eta0(log_beta, M, K, log=True)
            assert np.all(np.isfinite(log_eta))
            assert not np.any(np.isnan(theory.eta0(np.exp(log_beta), M, K)))
    assert theory.eta0(0.0, 10, 3) == 0
    assert theory.eta0(0.5, 10, 1) == 0


@pytest.mark.parametrize(
    ("call", "name", "value", "span"),
    [
        (lambda: theory.gamma0(1.2, 50), "p0", "1.2", r"\[0, 1\]"),
        (lambda: theory.gamma0([0.5, -0.1], 50), "p0", "-0.1", r"\[0, 1\]"),
        (lambda: theory.gamma0(0.5, 2.5), "P", "2.5", "whole number"),
        (lambda: theory.delta0(0.5, 50, 1.0, 2), "kappa", "1", r"\[0, 1\)"),
        (lambda: theory.beta0(0.5, 50, 0.5, 0.9), "mu0", "0.9", r"\[1, 50\]"),
        (lambda: theory.beta1(50, 1.1), "kappa_prime", "1.1", r"\[0, 1.09545\)"),
        (lambda: theory.eta0(1.5, 10, 2), "beta0", "1.5", r"\[0, 1\]"),
        (lambda: theory.sharp_failure(0.5, -1, [3, 3]), "separating", "-1", ">= 0"),
    ],
)
def test_out_of_range_names_argument_value_and_range(call, name, value, span):
    with pytest.raises(ValueError, match=rf"{name} = {value} is out of range: .*{span}"):
        call()
