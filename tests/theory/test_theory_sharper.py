"""Our pair bounds: proved orderings on a grid, and both bounds against simulated pairs."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from fusewise import theory

P = 50
DRAWS = 10_000
SAMPLING = (0.1, 0.2, 0.35, 0.5, 0.8)
KAPPAS, COHERENCES = (0.0, 0.4, 0.7, 0.95), (1.0, 1.5, 3.0, 10.0)
CELLS = len(SAMPLING) * len(KAPPAS) * len(COHERENCES)


def sharp_beta0(p0, features, kappa, mu0):
    """Our bound for a pair: no separating feature is observed twice."""
    return (1 - p0**2) ** theory.separating_features(features, kappa, mu0)


def difference(kappa: float, mu0: float, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """A vector with ||y|| = 1 and coherence mu0 that is as hard as these allow: few big entries, the rest epsilon."""
    epsilon = kappa / np.sqrt(P)
    top = np.sqrt(mu0 / P)
    n_top = int((1 - P * epsilon**2) / (top**2 - epsilon**2 + 1e-15)) if top > epsilon else P
    y = np.full(P, epsilon)
    y[: min(n_top, P)] = top
    left = 1 - (y**2).sum()
    if n_top < P:
        y[n_top] = np.sqrt(y[n_top] ** 2 + left)
    return rng.permutation(y * rng.choice([-1, 1], P)), epsilon


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("mu0", COHERENCES)
def test_simulated_sharing_stays_below_every_bound(kappa, mu0):
    rng = np.random.default_rng([int(100 * kappa), int(10 * mu0)])
    y, epsilon = difference(kappa, mu0, rng)
    assert theory.coherence(y) <= mu0 * (1 + 1e-9)
    assert np.linalg.norm(y) == pytest.approx(1)
    separated = np.abs(y) > epsilon * (1 + 1e-9)
    for p0 in SAMPLING:
        common = (rng.random((DRAWS, P)) < p0) & (rng.random((DRAWS, P)) < p0)
        shared = int(np.sum(~(common & separated).any(axis=1)))
        # A count above the 99% point of Binomial(DRAWS, bound) would refute the bound. Ours is attained with equality
        # in many cells, where each would exceed its own band once in a hundred: its 99% band is for all cells together.
        paper = theory.beta0(p0, P, kappa, mu0)
        assert shared <= binom.ppf(0.99, DRAWS, paper)
        assert shared <= binom.ppf(1 - 0.01 / CELLS, DRAWS, sharp_beta0(p0, P, kappa, mu0))


def test_sharp_below_paper_everywhere_and_far_below_in_practice():
    p0, kappa = np.linspace(0, 1, 41)[:, None, None], np.linspace(0, 0.999, 30)[None, :, None]
    for features in (1, 7, 50, 1000):
        mu0 = np.geomspace(1, features, 25)[None, None, :]
        assert np.all(sharp_beta0(p0, features, kappa, mu0) <= theory.beta0(p0, features, kappa, mu0) * (1 + 1e-12))
    # P = 50, kappa = 0.4, mu0 = 2, half the entries: a study people would run
    assert theory.beta0(0.5, 50, 0.4, 2) > 10 * sharp_beta0(0.5, 50, 0.4, 2)
    assert theory.beta0(0.8, 50, 0.4, 2) > 1000 * sharp_beta0(0.8, 50, 0.4, 2)


def test_separating_features_is_a_true_minimum():
    """Random vectors never have fewer big entries than the count derived from kappa and mu0."""
    rng = np.random.default_rng(3)
    for _ in range(3000):
        features = int(rng.integers(2, 12))
        y = rng.normal(size=features) ** int(rng.integers(1, 5))
        delta = np.linalg.norm(y) * rng.uniform(0.5, 1)
        kappa = rng.uniform(0, 0.999)
        epsilon = kappa * delta / np.sqrt(features)
        mu0 = min(features, max(1.0, float(theory.coherence(y))))
        assert np.sum(np.abs(y) > epsilon) >= theory.separating_features(features, kappa, mu0)


def uniform_sharing(shifts: np.ndarray, draws: int, rng: np.random.Generator) -> int:
    """How often points uniform in unit cubes, centres ``shifts`` apart, differ by at most 1 in every feature."""
    gap = np.abs(shifts + rng.uniform(-0.5, 0.5, (draws, len(shifts))) - rng.uniform(-0.5, 0.5, (draws, len(shifts))))
    return int(np.sum((gap <= 1).all(axis=1)))


@pytest.mark.parametrize("features", [4, 12])
def test_beta1_bounds_simulated_uniform_clusters(features):
    rng = np.random.default_rng(features)
    shapes = [np.ones(features), np.arange(1.0, features + 1), np.eye(features)[0] + 0.05]
    for shape, kappa_prime in itertools.product(shapes, (0.6, 0.8, 0.9, 1.0, 1.05)):
        shifts = shape / np.linalg.norm(shape) * np.sqrt(features) / kappa_prime
        shared = uniform_sharing(shifts, DRAWS, rng)
        assert shared <= binom.ppf(1 - 0.01 / 30, DRAWS, float(theory.beta1(features, kappa_prime)))
