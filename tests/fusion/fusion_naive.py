"""The objective and its gradient by the plainest route: every pair's difference vector, no matrix products."""

import numpy as np

from fusewise.fidelity import Ball, Box, Quadratic
from fusewise.fusion import PENALTIES
from fusewise.penalties import H1, L1, MCP, SCAD, GemanMcClure, Lp, Penalty, TruncatedL2

#: One of each penalty that can be minimised, at scales that suit tables of unit size.
EXAMPLES: list[Penalty] = [
    H1(0.7), L1(smoothing=0.01), Lp(0.5, smoothing=0.02), MCP(1.5, smoothing=0.02), SCAD(2.0, smoothing=0.05),
    TruncatedL2(1.2), GemanMcClure(0.7),
]  # fmt: skip
assert {type(penalty) for penalty in EXAMPLES} == {kind for kind in PENALTIES.values() if kind.has_weight}


def draw(kind="real", missing=0.0, n=18, p=4, noise=0.15, seed=0):
    """Three noisy clusters with holes, every row and column with something in it."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    centers = 1.2 * rng.normal(size=(3, p)) + (1.2j * rng.normal(size=(3, p)) if kind == "complex" else 0)
    X = centers[y] + noise * (rng.normal(size=(n, p)) + (1j * rng.normal(size=(n, p)) if kind == "complex" else 0))
    hidden = rng.uniform(size=(n, p)) < missing
    hidden[np.arange(n), np.arange(n) % p] = False
    X[hidden] = np.nan
    return X


def objective(X, U, lam, penalty, fidelity):
    """sum_i f_i(u_i) + lam sum_ij phi(||u_i - u_j||), ordered pairs; a broken constraint costs infinitely much."""
    pairs = sum(float(penalty.value(np.linalg.norm(u - v))) for u in U for v in U)
    offset = np.where(np.isnan(X), 0, U - X)
    if isinstance(fidelity, Quadratic):
        return float((np.abs(offset) ** 2).sum()) + lam * pairs
    return lam * pairs if violation(X, U, fidelity) <= 1e-9 else np.inf


def violation(X, U, fidelity):
    """By how much the worst centre leaves its box or ball."""
    offset = np.abs(np.where(np.isnan(X), 0, U - X))
    if isinstance(fidelity, Box):
        return float(offset.max() - fidelity.epsilon / 2)
    assert isinstance(fidelity, Ball)
    return float(np.max(np.sqrt((offset**2).sum(axis=1)) - fidelity.radius))


def pair_gradient(U, lam, penalty):
    """Gradient of the pair term: 2 lam sum_j phi'(t_ij) (u_i - u_j) / t_ij, doubled weights for ordered pairs."""
    gradient = np.zeros_like(U)
    for i, u in enumerate(U):
        for v in U:
            gradient[i] += 4 * lam * float(penalty.weight(np.linalg.norm(u - v))) * (u - v)
    return gradient


def gradient(X, U, lam, penalty):
    """Gradient of the unconstrained objective."""
    return 2 * np.where(np.isnan(X), 0, U - X) + pair_gradient(U, lam, penalty)
