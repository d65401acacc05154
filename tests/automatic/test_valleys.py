"""Components without a valley between them are one cluster."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from fusewise.automatic import _valleys as valleys
from fusewise.automatic._choosing import choose
from fusewise.automatic._evidence import Evidence
from fusewise.automatic._mixture import Mixture
from fusewise.automatic._valleys import (
    NO_VALLEY,
    TOUCHING,
    Between,
    by_chance,
    linked,
    saddles,
    without_valley,
)
from fusewise.datasets import hide_entries
from fusewise.observations import as_entries
from fusewise.subspace import Subspace


def pair(distance, spreads=(1.0, 1.0), shares=(0.5, 0.5), r=1):
    means = np.zeros((2, r))
    means[1, 0] = distance
    return Mixture(means, np.array([s**2 * np.eye(r) for s in spreads]), np.array(shares), "full", 0.0, 0.0)


def lowest(distance, spreads, shares):
    """On the line: the least density between the two peaks, over the lower peak, by a fine grid."""
    x = np.linspace(-1, distance + 1, 200_001)
    f = sum(p * norm.pdf(x, m, s) for p, m, s in zip(shares, (0, distance), spreads, strict=True))
    left, right = np.maximum.accumulate(f), np.maximum.accumulate(f[::-1])[::-1]
    return (f / np.minimum(left, right)).min()


@pytest.mark.parametrize("r", [1, 2, 6])
@pytest.mark.parametrize("distance", [0.0, 1.0, 1.99])
def test_equal_gaussians_within_two_deviations_are_one_hump(distance, r):
    """Unimodal if and only if the means are at most two standard deviations apart, in any dimension."""
    assert saddles(pair(distance, r=r), 1, np.array([0]))[0] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("distance", [2.5, 3.0, 4.0])
@pytest.mark.parametrize("spreads", [(1.0, 1.0), (1.0, 0.5)])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.2, 0.8)])
def test_the_valley_on_the_line(distance, spreads, shares):
    found = saddles(pair(distance, spreads, shares), 1, np.array([0]))[0]
    assert found == pytest.approx(lowest(distance, spreads, shares), rel=0.03)


def test_the_ridgeline_is_the_lowest_pass():
    """No path crosses from one peak to the other higher than the ridgeline does, for spreads of different shape."""
    spreads = np.array([[[1.0, 0.6], [0.6, 1.0]], [[0.5, -0.2], [-0.2, 1.5]]])
    mixture = Mixture(np.array([[0.0, 0.0], [3.0, 1.0]]), spreads, np.array([0.4, 0.6]), "full", 0.0, 0.0)

    def density(x):
        away = x - mixture.means
        q = np.einsum("kr,krs,ks->k", away, np.linalg.inv(spreads), away)
        return float((mixture.shares * np.exp(-q / 2) / np.sqrt(np.linalg.det(spreads))).sum())

    # The pass on a ray of lines across the way: the least over x of the largest over y.
    def highest_at(x):
        return max(density(np.array([x, y])) for y in np.linspace(-3, 4, 701))

    gap = minimize_scalar(highest_at, bounds=(0.3, 2.7), method="bounded").fun
    peak = min(density(mean) for mean in mixture.means)
    assert saddles(mixture, 1, np.array([0]))[0] == pytest.approx(gap / peak, rel=0.03)


def test_joining_is_passed_on():
    means = np.array([[0.0], [1.5], [3.0], [9.0]])
    mixture = Mixture(means, np.ones((4, 1, 1)), np.full(4, 0.25), "full", 0.0, 0.0)
    assert humps(mixture, known(np.repeat(means[:, 0], 3))).tolist() == [0, 0, 0, 1]


def humps(mixture, evidence):
    """The hump of each component."""
    return linked(mixture.n_components, without_valley(mixture, evidence))


def known(x):
    """Evidence of rows with one exactly known coordinate."""
    return Evidence.of(Subspace(np.zeros(1), np.ones((1, 1)), np.ones(1), 1e-6), as_entries(np.asarray(x)[:, None]))


def halves(x):
    """The two halves of a sample as two components, and the half of each row."""
    labels = (x > np.median(x)).astype(int)
    parts = [x[labels == k] for k in (0, 1)]
    means, spreads = np.array([[part.mean()] for part in parts]), np.array([[[part.var()]] for part in parts])
    return Mixture(means, spreads, np.array([0.5, 0.5]), "full", 0.0, 0.0), labels


@pytest.mark.parametrize(
    ("draw", "at_least", "at_most"),
    [
        (lambda rng: rng.random(400), 30, 40),
        (lambda rng: rng.normal(size=400), 38, 40),
        (lambda rng: rng.normal(size=400) + np.repeat([0.0, 4.0], 200), 0, 0),
        (lambda rng: rng.normal(size=400) + np.repeat([0.0, 3.5], 200), 0, 2),
    ],
    ids=["uniform", "normal", "two normal", "two close normal"],
)
def test_rows_between_two_centres_tell_a_flat_group_from_two(draw, at_least, at_most):
    """Of 40 samples: a cut through one group is undone in most, one between two groups nearly never."""
    joined = 0
    for seed in range(40):
        x = draw(np.random.default_rng(seed))
        mixture, labels = halves(x)
        joined += Between(mixture, known(x), labels)(0, 1).filled
    assert at_least <= joined <= at_most


def test_halves_touch():
    """The halves of a uniform and of a normal density: 0.45 and 0.8 of the lower peak."""
    for draw, height in ((np.random.default_rng(0).random, 0.45), (np.random.default_rng(0).standard_normal, 0.8)):
        found = saddles(halves(draw(100_000))[0], 1, np.array([0]))[0]
        assert found == pytest.approx(height, abs=0.02)
        assert TOUCHING < found < NO_VALLEY


def test_how_well_a_filled_valley_explains_the_rows():
    """The likelihoods that decide, by SciPy's Student t and quadrature."""
    x = np.random.default_rng(2).random(300)
    mixture, labels = halves(x)
    begin, end = mixture.means[:, 0]
    deviations = np.sqrt(mixture.spreads[:, 0, 0])

    def density(u):
        return student.pdf(u, 5, begin, deviations[0]) + student.pdf(u, 5, end, deviations[1])

    middle = (begin + end) / 2
    peaks = [
        minimize_scalar(lambda u: -density(u), bounds=sides, method="bounded").x
        for sides in ((begin, middle), (middle, end))
    ]
    brim = min(density(peak) for peak in peaks)

    def part_filled(u, share):
        return np.where((peaks[0] < u) & (u < peaks[1]), np.maximum(density(u), share * brim), density(u))

    inside = x[(x > begin) & (x < end)]
    fits = []
    for share in np.linspace(0, 1, 11):
        total = quad(part_filled, begin, end, args=(share,), limit=200)[0]
        fits.append(np.log(part_filled(inside, share) / total).sum())
    assert fits[-1] > fits[0]
    shallow = max(fits) - fits[-1]
    found = Between(mixture, known(x), labels)(0, 1)
    assert found[:2] == pytest.approx((fits[0] - fits[-1], shallow), abs=0.02)
    assert found.filled


def test_rows_that_hardly_say_where_they_are_do_not_fill_a_valley():
    """Two groups along the first of two columns, and 200 rows of which only the second is known."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) + np.repeat([[0.0, 0.0], [4.0, 0.0]], 200, axis=0)
    X = np.vstack([X, np.column_stack([np.full(200, np.nan), rng.normal(size=200)])])
    evidence = Evidence.of(Subspace(np.zeros(2), np.eye(2), np.ones(2), 1e-6), as_entries(X))
    mixture = pair(4.0, r=2)
    labels = mixture.log_densities(evidence)[0].argmax(axis=1)
    assert not Between(mixture, evidence, labels)(0, 1).filled


@pytest.mark.parametrize(("r", "dense", "one"), [(2, 1.0, True), (2, 5.0, True), (4, 1.0, True), (4, 5.0, False)])
def test_a_dense_and_a_sparse_component_stay_two_in_many_dimensions(r, dense, one):
    """Two halves of a flat group, one of them as wide in a second direction as the other or five times as wide."""
    rng = np.random.default_rng(0)
    X = 0.1 * rng.normal(size=(600, r))
    X[:, 0] = rng.random(600) - (np.arange(600) < 300)
    X[300:, 1] *= dense
    means = np.zeros((2, r))
    means[:, 0] = -0.5, 0.5
    spreads = np.array([np.diag([1 / 12, *[0.01] * (r - 1)])] * 2)
    spreads[1, 1, 1] *= dense**2
    mixture = Mixture(means, spreads, np.array([0.5, 0.5]), "full", 0.0, 0.0)
    evidence = Evidence.of(Subspace(np.zeros(r), np.eye(r), np.ones(r), 1e-6), as_entries(X))
    assert (humps(mixture, evidence).max() == 0) == one


def test_alignment_counts_how_far_two_components_point_to_each_other():
    """Four times as long as wide, end to end; side by side; and round, in two and three dimensions."""
    for r in (2, 3):
        towards, long, round_ = np.eye(r)[0] * 3.0, np.diag([16.0, *[1.0] * (r - 1)]), np.eye(r)
        assert valleys.alignment(towards, np.array([long, long])) == pytest.approx(2 * (r - 1) * np.log(4))
        assert valleys.alignment(towards, np.array([long, round_])) == pytest.approx((r - 1) * np.log(4))
        assert valleys.alignment(np.eye(r)[1], np.array([long, long])) == 0
    assert valleys.alignment(np.ones(1), np.ones((2, 1, 1))) == 0


def test_components_on_either_side_of_a_gap_are_not_joined():
    mixture = pair(1.0, r=2)  # one hump
    X = np.random.default_rng(0).normal(size=(100, 2)) * [1, 0.1]
    evidence = Evidence.of(Subspace(np.zeros(2), np.eye(2), np.ones(2), 1e-6), as_entries(X))
    labels = mixture.log_densities(evidence)[0].argmax(axis=1)
    assert without_valley(mixture, evidence, labels) == [(1, 0)]
    assert without_valley(mixture, evidence, labels, parts=np.zeros(100, np.intp)) == [(1, 0)]
    assert without_valley(mixture, evidence, labels, parts=labels) == []


def test_crescents():
    X, y = make_moons(500, noise=0.05, random_state=30)
    assert adjusted_rand_score(y, choose(as_entries(X)).classify(as_entries(X)).labels) == 1


@pytest.mark.parametrize("number", [1, 2, 3, 10])
def test_what_chance_shows_by_simulation(number):
    """Half the squares of normal numbers, one for each depth, of which only the positive ones count."""
    draws = np.maximum(np.random.default_rng(0).normal(size=(40_000, number)), 0)
    share = np.mean(0.5 * (draws**2).sum(axis=1) > by_chance(number))
    assert share == pytest.approx(valleys.CHANCE, abs=0.005)


def choice(X):
    X = X[~np.isnan(X).all(axis=1)]
    return choose(as_entries(X))


def test_a_bent_or_skewed_group_is_one_cluster():
    """Draws that were cut before valleys were judged together."""
    for seed in (2, 8, 14, 23):
        x = np.random.default_rng(seed).normal(size=(300, 2))
        assert choice(np.column_stack([x[:, 0], x[:, 0] ** 2 + 0.3 * x[:, 1]])).n_clusters == 1
    for seed in (4, 11):
        assert choice(np.random.default_rng(seed).exponential(size=(300, 2))).n_clusters == 1


def test_a_uniform_square_is_one_cluster():
    """Draws that have a strip with few rows, and were cut where that was all they had to show."""
    for seed in (12, 18, 24, 35, 38):
        assert choice(np.random.default_rng(seed).uniform(size=(1000, 2))).n_clusters == 1


def test_a_bent_group_with_missing_entries_is_one_cluster():
    """Ten arcs, of which seven were cut, and three still are."""
    cut = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        angle = rng.uniform(0, np.pi, 300)
        X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.normal(size=(300, 2))
        cut += choice(hide_entries(X, 0.2, random_state=seed)).n_clusters > 1
    assert cut <= 4


@pytest.mark.parametrize(("seed", "at_least"), [(4, 0.5), (7, 0.85)])
def test_many_shallow_valleys_are_no_chance(seed, at_least):
    """Nine round groups of 33 rows, four standard deviations apart: no valley is certain, but together they are.

    With the first seed each pair by itself left two clusters.
    """
    y = np.arange(300) % 9
    X = 4.0 * np.column_stack([y // 3, y % 3]) + np.random.default_rng(seed).normal(size=(300, 2))
    assert adjusted_rand_score(y, choice(X).classify(as_entries(X)).labels) > at_least
