"""Mixtures with independent columns, against SciPy's multivariate t and simulated groups."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from sklearn.metrics import adjusted_rand_score

from fusewise.automatic._choosing import choose
from fusewise.automatic._classes import joining_losses
from fusewise.automatic._columns import PSEUDO_ENTRIES, ColumnMixture, fit_columns, level_shares
from fusewise.automatic._mixture import TAIL
from fusewise.automatic._units import LevelBlock
from fusewise.datasets import hide_entries
from fusewise.observations import Entries, as_entries


def two_groups(n=400, p=5, seed=0):
    """Groups with variances of their own in every column; table, truth, centres, deviations."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    centers = np.array([np.zeros(p), np.full(p, 6.0)])
    deviations = rng.uniform(0.3, 1.5, (2, p))
    return centers[y] + deviations[y] * rng.normal(size=(n, p)), y, centers, deviations


def any_mixture(p=4, seed=0):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(3, p))
    return ColumnMixture(
        means, means, rng.uniform(0.2, 2, (3, p)), np.array([0.5, 0.3, 0.2]), 0.0, 0.0, np.ones((3, p))
    )


class TestDensities:
    def test_student_on_the_observed_entries(self):
        mixture = any_mixture()
        X = hide_entries(np.random.default_rng(1).normal(size=(20, 4)), 0.4, random_state=1)
        densities, distances, seen = mixture.log_densities(as_entries(X))
        np.testing.assert_array_equal(seen, (~np.isnan(X)).sum(axis=1))
        for i, row in enumerate(X):
            (known,) = np.nonzero(~np.isnan(row))
            for k in range(3):
                if len(known) == 0:
                    assert densities[i, k] == pytest.approx(np.log(mixture.shares[k]))
                    continue
                mean, variance = mixture.means[k, known], mixture.variances[k, known]
                law = stats.multivariate_t(mean, np.diag(variance), df=TAIL)
                assert densities[i, k] == pytest.approx(law.logpdf(row[known]) + np.log(mixture.shares[k]))
                assert distances[i, k] == pytest.approx(((row[known] - mean) ** 2 / variance).sum())

    def test_complex_columns_are_two_real_ones(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 3)) + 1j * rng.normal(size=(60, 3))
        X[rng.uniform(size=X.shape) < 0.3] = complex(np.nan, np.nan)
        both = np.concatenate([X.real, X.imag], axis=1)
        posterior = rng.dirichlet(np.ones(2), 60)
        one, other = fit_columns(as_entries(X), posterior, 3), fit_columns(as_entries(both), posterior, 3)
        np.testing.assert_allclose(one.means, other.means)
        np.testing.assert_allclose(one.centers, other.centers[:, :3] + 1j * other.centers[:, 3:])
        assert one.log_likelihood == pytest.approx(other.log_likelihood)


class TestFit:
    def test_likelihood_is_that_of_its_densities_and_rises(self):
        X, y, _, _ = two_groups(200)
        entries = as_entries(hide_entries(X, 0.3, random_state=0))
        doubt = 0.8 * np.eye(2)[y] + 0.1
        fits = [fit_columns(entries, doubt, rounds) for rounds in range(1, 12)]
        for fit in fits:
            assert fit.log_likelihood == pytest.approx(np.logaddexp.reduce(fit.log_densities(entries)[0], axis=1).sum())
        steps = np.diff([fit.log_likelihood for fit in fits])
        assert steps[0] > 1
        assert steps.min() > -0.5  # pseudo-entries pull at the likelihood by less than that

    def test_a_column_on_which_a_group_agrees_does_not_decide_everything(self):
        # Yes or no: half of group 0 says yes, all of group 1; another column tells the groups apart.
        rng = np.random.default_rng(0)
        y = np.arange(200) % 2
        X = np.column_stack([np.where(y == 1, 1.0, rng.integers(0, 2, 200)), rng.normal(size=200) + 8 * y])
        found = fit_columns(as_entries(X), np.eye(2)[y], 5)
        assert (found.variances[:, 0] >= 1 / 12 - 1e-12).all()


LEVELS = (LevelBlock(1, 4), LevelBlock(4, 6))


def mixture(rng, unit=0.7):
    """Two components of one number and two categories, of three levels and of two; levels are worth `unit`."""
    three, two = rng.dirichlet(np.ones(3), 2), rng.dirichlet(np.ones(2), 2)
    means = np.hstack([rng.normal(size=(2, 1)), three * unit, two * unit])
    variances = np.hstack([rng.uniform(0.5, 2, (2, 1)), np.ones((2, 5))])
    return (
        ColumnMixture(means, means, variances, np.array([0.3, 0.7]), 0.0, 0.0, np.ones_like(means), LEVELS),
        three,
        two,
    )


def rows(rng, n=20, unit=0.7):
    """A number and the levels of two categories for each row, some of each missing."""
    x, a, b = rng.normal(size=n), rng.integers(3, size=n), rng.integers(2, size=n)
    values = np.hstack([x[:, None], unit * np.eye(3)[a], unit * np.eye(2)[b]])
    seen = rng.random((n, 3)) > 0.3
    mask = seen[:, [0, 1, 1, 1, 2, 2]]
    return Entries(np.where(mask, values, 0), mask), x, a, b, seen


def test_densities_are_those_of_a_t_law_times_the_probabilities_of_the_levels():
    rng = np.random.default_rng(0)
    found, three, two = mixture(rng)
    table, x, a, b, seen = rows(rng)
    densities, distances, n_numbers = found.log_densities(table)
    for i in range(len(x)):
        for k in range(2):
            expected = np.log(found.shares[k])
            if seen[i, 0]:
                expected += stats.t.logpdf(x[i], TAIL, found.means[k, 0], np.sqrt(found.variances[k, 0]))
            expected += np.log(three[k, a[i]]) * seen[i, 1] + np.log(two[k, b[i]]) * seen[i, 2]
            assert densities[i, k] == pytest.approx(expected)
            gap = (x[i] - found.means[k, 0]) ** 2 / found.variances[k, 0]
            assert distances[i, k] == pytest.approx(gap * seen[i, 0])
    np.testing.assert_array_equal(n_numbers, seen[:, 0])


def urn(counts, prior):
    """log p(n) by drawing row after row from Polya's urn: an independent route to the Dirichlet's integral."""
    total = 0.0
    for row in counts:
        drawn = np.zeros(len(prior))
        for level, count in enumerate(row.astype(int)):
            for _ in range(count):
                total += np.log((prior[level] + drawn[level]) / (prior.sum() + drawn.sum()))
                drawn[level] += 1
    return total


def test_shares_of_levels_are_those_of_the_prior_with_most_evidence():
    rng = np.random.default_rng(1)
    table, _, a, _, seen = rows(rng, 300)
    labels = np.where(rng.random(300) < 0.6, a % 2, rng.integers(2, size=300))  # the first category tells them apart
    found = fit_columns(table, np.eye(2)[labels], 1, LEVELS)
    whole = np.bincount(a[seen[:, 1]], minlength=3) / seen[:, 1].sum()
    counts = np.array([np.bincount(a[seen[:, 1] & (labels == k)], minlength=3) for k in range(2)])
    best = max(PSEUDO_ENTRIES, key=lambda entries: urn(counts, entries * whole))
    expected = (counts + best * whole) / (counts.sum(axis=1, keepdims=True) + best)
    np.testing.assert_allclose(found.means[:, 1:4] / 0.7, expected)
    _, cost = level_shares(counts.astype(float), whole, (LevelBlock(0, len(whole)),))
    assert cost == pytest.approx(np.sum(counts * np.log(expected)) - urn(counts, best * whole))


def test_a_column_that_tells_nothing_is_shared_and_costs_nothing():
    shares, cost = level_shares(np.array([[40.0, 20.0], [21.0, 9.0]]), np.array([61.0, 29.0]) / 90, (LevelBlock(0, 2),))
    np.testing.assert_allclose(shares, np.repeat([[61 / 90, 29 / 90]], 2, axis=0))
    assert cost == pytest.approx(0)


def ranked(t, base):
    """Shares shifted along the order, ranks standardised."""
    ranks = np.arange(len(base)) - base @ np.arange(len(base))
    shares = base * np.exp(t * ranks / np.sqrt(base @ ranks**2))
    return shares / shares.sum()


def test_ordered_levels_are_shifted_as_much_as_is_most_likely():
    """Counts on a shifted curve: one number for each component, its cost that of integrating it out numerically."""
    base = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    counts = np.array([60 * ranked(0.8, base), 50 * ranked(-0.9, base)]).round()
    shares, cost = level_shares(counts, base, (LevelBlock(0, len(base), True),))
    integral = 0.0
    for k, held in enumerate(counts):

        def loss(t, held=held):
            return t**2 / 2 - held @ np.log(ranked(t, base))

        t = optimize.minimize_scalar(loss, (-3, 3), options={"xtol": 1e-10}).x
        np.testing.assert_allclose(shares[k], ranked(t, base), rtol=1e-5)
        area, _ = integrate.quad(lambda x, t=t, loss=loss: np.exp(loss(t) - loss(x)), t - 3, t + 3)
        integral += np.log(area / np.sqrt(2 * np.pi)) - loss(t)
    assert cost == pytest.approx(np.sum(counts * np.log(shares)) - integral, abs=0.05)
    unordered, dearer = level_shares(counts, base, (LevelBlock(0, len(base)),))
    assert np.sum(counts * np.log(unordered)) - dearer < integral  # the order is worth something


def test_levels_out_of_order_stay_as_they_are():
    counts, base = np.array([[40.0, 1.0, 40.0], [2.0, 80.0, 2.0]]), np.array([42.0, 81.0, 42.0]) / 165
    apart, cost = level_shares(counts, base, (LevelBlock(0, len(base)),))
    ordered, same = level_shares(counts, base, (LevelBlock(0, len(base), True),))
    np.testing.assert_allclose(ordered, apart)
    assert cost == pytest.approx(same)


def test_the_order_helps_where_rows_are_few():
    """Three classes of 25 rows whose answers, one to seven, differ by a step or two; the mean over three tables."""
    scores = {True: [], False: []}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        classes = np.repeat(np.arange(3), 25)
        cells = np.clip(np.rint(rng.uniform(2, 6, (3, 8))[classes] + 1.3 * rng.normal(size=(75, 8))), 1, 7).astype(int)
        table = Entries(np.hstack([np.eye(7)[column - 1] for column in cells.T]), np.ones((75, 56), bool))
        for ordered, found in scores.items():
            levels = tuple(LevelBlock(7 * j, 7 * j + 7, ordered) for j in range(8))
            labels = choose(table, levels=levels, n_clusters=3).classify(table).labels
            found.append(adjusted_rand_score(classes, labels))
    assert np.mean(scores[True]) > np.mean(scores[False])


def test_joining_loses_the_divergence_of_levels_and_the_variance_of_numbers():
    found, three, two = mixture(np.random.default_rng(5))
    seen = np.array([0.9, 0.5, 0.5, 0.5, 0.8, 0.8])
    pi, m, s = found.shares, found.means[:, 0], found.variances[:, 0]
    loss = -np.sum(pi * np.log(1 / pi))  # the union has share one
    for q, part in ((three, 0.5), (two, 0.8)):
        loss += part * np.sum(pi[:, None] * q * np.log(q / (pi @ q)))
    union = pi @ s + pi @ np.square(m - pi @ m)
    loss += 0.9 * 0.5 * (np.log(union) - pi @ np.log(s))
    assert joining_losses(found, seen)[0, 1] == pytest.approx(loss)


def test_few_rows_of_many_columns_some_of_them_noise():
    """Where counting parameters finds one class: 160 rows, three classes, 40 columns of four levels, half noise."""
    rng = np.random.default_rng(7)
    classes = rng.integers(3, size=160)
    chances = np.concatenate(
        [rng.dirichlet(np.full(4, 1.2), (20, 3)), np.repeat(rng.dirichlet(np.ones(4), (20, 1)), 3, 1)]
    )
    cells = np.array([(rng.random((160, 1)) > q[classes].cumsum(axis=1)[:, :3]).sum(axis=1) for q in chances]).T
    table, levels = encoded(cells, 0.0, rng), tuple(LevelBlock(4 * j, 4 * j + 4) for j in range(40))
    choice = choose(table, levels=levels)
    assert choice.n_clusters == 3
    assert adjusted_rand_score(classes, choice.classify(table).labels) > 0.9
    assert choose(table, levels=levels, n_clusters=8).n_clusters == 8


def simulated(rng, n=400, columns=8):
    """Three classes, in each of which a category has one level with probability 0.8."""
    classes = rng.integers(3, size=n)
    levels = [rng.permutation(4)[:3] for _ in range(columns)]
    cells = np.array([np.where(rng.random(n) < 0.8, level[classes], rng.integers(4, size=n)) for level in levels]).T
    return cells, classes


def encoded(cells, hidden, rng):
    parts = [np.eye(4)[column] for column in cells.T]
    mask = np.repeat(rng.random(cells.shape) >= hidden, 4, axis=1)
    return Entries(np.where(mask, np.hstack(parts), 0), mask)


@pytest.mark.parametrize("hidden", [0.0, 0.3])
def test_latent_classes_are_found(hidden):
    rng = np.random.default_rng(3)
    cells, classes = simulated(rng)
    levels = tuple(LevelBlock(4 * j, 4 * j + 4) for j in range(8))
    table = encoded(cells, hidden, rng)
    choice = choose(table, levels=levels)
    assert choice.n_clusters == 3
    assert adjusted_rand_score(classes, choice.classify(table).labels) > (0.95 if hidden == 0 else 0.8)
    assert choose(table, levels=levels, n_clusters=5).n_clusters == 5


def test_one_cluster_where_categories_are_independent():
    rng = np.random.default_rng(4)
    table = encoded(rng.integers(4, size=(300, 6)), 0.2, rng)
    assert choose(table, levels=tuple(LevelBlock(4 * j, 4 * j + 4) for j in range(6))).n_clusters == 1
