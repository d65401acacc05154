"""Our failure bound: brute force over all partitions, exact cliques, and where the paper's product fails."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from fusewise import theory
from fusewise.theory._failure import least_majority, log_biclique


def partitions(items: list[int]):
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for smaller in partitions(rest):
        for k, group in enumerate(smaller):
            yield [*smaller[:k], [first, *group], *smaller[k + 1 :]]
        yield [[first], *smaller]


def is_clique(edges: np.ndarray, group) -> bool:
    return all(edges[i, j] for i, j in itertools.combinations(group, 2))


def truth_wins(edges: np.ndarray, labels: np.ndarray, plans: list) -> bool:
    """Brute force: the true clusters have strictly the largest sum of squared group sizes among all feasible plans."""
    sizes = Counter(labels.tolist())
    best = sum(n * n for n in sizes.values())
    for plan in plans:
        if sum(len(group) ** 2 for group in plan) < best:
            continue
        true = len(plan) == len(sizes) and all(len(set(labels[group])) == 1 for group in plan)
        if not true and all(is_clique(edges, group) for group in plan):
            return False
    return True


def bad_groups(edges: np.ndarray, labels: np.ndarray):
    sizes = Counter(labels.tolist())
    for n in range(2, len(labels) + 1):
        for group in itertools.combinations(range(len(labels)), n):
            parts = Counter(labels[list(group)].tolist())
            if len(parts) > 1 and n * n >= sum(m * sizes[k] for k, m in parts.items()) and is_clique(edges, group):
                yield group, parts


SIZES = [(2, 2), (3, 2), (3, 3), (4, 2), (5, 1), (2, 2, 2), (3, 2, 1), (4, 3)]


@pytest.mark.parametrize("sizes", SIZES)
def test_no_bad_group_means_the_truth_is_the_only_optimum(sizes):
    """Lemma of the docs, and the certificate that is counted, on random feasibility graphs."""
    rng = np.random.default_rng(sum(sizes))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    N, K, smallest = len(labels), len(sizes), min(sizes)
    plans = list(partitions(list(range(N))))
    across = labels[:, None] != labels[None, :]
    for _ in range(60):
        coin = np.triu(rng.random((N, N)) < rng.uniform(0.05, 0.9), 1)
        edges = np.where(across, coin | coin.T, True)
        groups = list(bad_groups(edges, labels))
        if not groups:
            assert truth_wins(edges, labels, plans)
        elif truth_wins(edges, labels, plans):
            continue  # a bad group need not be used: the condition is sufficient only
        for group, parts in groups:
            lead = max(parts, key=lambda k: (parts[k], -sizes[k]))
            outsiders = len(group) - parts[lead]
            other = min(s for k, s in enumerate(sizes) if k != lead)
            assert parts[lead] >= least_majority(outsiders, sizes[lead], other, K)
            degrees = (edges & across).sum(axis=1)[list(group)]
            assert degrees.max() >= math.ceil(smallest / 2)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 3), (4, 2), (2, 2, 2), (3, 2, 1)])
@pytest.mark.parametrize("p0", [0.5, 0.75])
def test_failure_bound_holds_against_brute_force(sizes, p0):
    """Noiseless clusters that differ in every one of n features: the hardest geometry, 2000 masks each."""
    rng = np.random.default_rng([*sizes, int(100 * p0)])
    labels = np.repeat(np.arange(len(sizes)), sizes)
    plans = list(partitions(list(range(len(labels)))))
    across = labels[:, None] != labels[None, :]
    for n in (3, 8):
        bound, failures, draws = float(theory.sharp_failure(p0, n, sizes)), 0, 2000
        for _ in range(draws):
            seen = rng.random((len(labels), n)) < p0
            common = seen @ seen.T
            edges = ~(across & common)
            if (edges & across).any():
                failures += not truth_wins(edges, labels, plans)
        sigma = math.sqrt(max(bound * (1 - bound), 1e-6) / draws)
        assert failures / draws <= bound + 3.5 * sigma
        if len(set(sizes)) == 1:  # and no bound may promise more than what nobody can avoid
            assert bound >= theory.blind_failure(p0, n, len(labels))


def exact_biclique(B: np.ndarray, p0: float) -> float:
    """P(no separating feature is observed on both ends of any pair), by enumeration of one feature at a time."""
    a, b, features = B.shape
    total = 1.0
    for p in range(features):
        chance = 0.0
        for left in itertools.product([0, 1], repeat=a):
            for right in itertools.product([0, 1], repeat=b):
                if not np.any(B[:, :, p] & np.outer(left, right).astype(bool)):
                    k = sum(left) + sum(right)
                    chance += p0**k * (1 - p0) ** (a + b - k)
        total *= chance
    return total


def test_biclique_bound_holds_for_every_arrangement_and_is_attained():
    rng = np.random.default_rng(1)
    for _ in range(150):
        a, b, features = int(rng.integers(1, 4)), int(rng.integers(1, 4)), int(rng.integers(2, 5))
        p0, n = rng.uniform(0.1, 0.95), int(rng.integers(1, features + 1))
        order = rng.random((a, b, features)).argsort(axis=-1)
        assert exact_biclique(order < n, p0) <= np.exp(log_biclique(p0, n, a, b)) * (1 + 1e-12)
        same = np.broadcast_to(np.arange(features) < n, (a, b, features))
        assert exact_biclique(same, p0) == pytest.approx(np.exp(log_biclique(p0, n, a, b)), rel=1e-9)


def test_the_paper_promises_more_than_is_possible_and_we_do_not():
    """K=2, P=10, p0=1/2, M=200, noiseless, mu0=1: eta0 < 1e-20, yet one data set in three holds a blind row."""
    beta = theory.beta0(0.5, 10, 0.0, 1.0)
    assert theory.eta0(beta, 200, 2) < 1e-20
    blind = theory.blind_failure(0.5, 10, 400)
    assert blind > 0.3
    rng = np.random.default_rng(0)
    found = np.mean([(rng.random((400, 10)) >= 0.5).all(axis=1).any() for _ in range(1000)])
    assert found == pytest.approx(blind, abs=0.05)
    assert theory.sharp_failure(0.5, 10, [200, 200]) >= blind


def test_monotone_in_sampling_and_features_and_stable_at_extremes():
    p0 = np.linspace(0, 1, 101)
    for sizes in ([5, 5], [100] * 4, [1000, 30, 7], [100_000] * 50):
        failure = theory.sharp_failure(p0, 20, sizes, log=True)
        assert not np.isnan(failure).any()
        assert np.all(np.diff(failure[np.isfinite(failure)]) <= 1e-9)
        by_features = [float(theory.sharp_failure(0.4, n, sizes, log=True)) for n in (1, 5, 20, 80)]
        assert np.all(np.diff(by_features) < 0)
    assert theory.sharp_failure(1.0, 1, [4, 4]) == 0
    assert theory.sharp_failure(0.9, 0, [4, 4]) == 1
    assert theory.sharp_failure(0.1, 3, [9]) == 0


def test_bounds_for_a_billion_points_are_refused():
    """They asked for memory without bound."""
    with pytest.raises(ValueError, match="too many: the bound is computed for up to"):
        theory.sharp_failure(0.5, 20, (10**9, 10**9), log=True)
    with pytest.raises(ValueError, match="too many"):
        theory.eta0(-30.0, 10**9, 2, log=True)
    with pytest.raises(ValueError, match="M = 5000 points are too many"):
        theory.eta0(-30.0, 5000, 3, log=True)


def test_no_clusters_have_no_failure():
    with pytest.raises(ValueError, match="sizes must be a list of numbers, one for each cluster"):
        theory.sharp_failure(0.5, 10, [])
