"""Categories as categories: likelihoods written out, and what must not matter."""

import numpy as np
import pytest
from scipy import stats

from fusewise.automatic import columnwise
from fusewise.automatic.choice import choose
from fusewise.automatic.columnwise import ColumnMixture, fit_columns
from fusewise.automatic.spreads import TAIL
from fusewise.observations import Entries

LEVELS = ((1, 4), (4, 6))


def mixture(rng, unit=0.7):
    """Two components of one number and two categories, of three levels and of two; levels are worth `unit`."""
    three, two = rng.dirichlet(np.ones(3), 2), rng.dirichlet(np.ones(2), 2)
    means = np.hstack([rng.normal(size=(2, 1)), three * unit, two * unit])
    variances = np.hstack([rng.uniform(0.5, 2, (2, 1)), np.ones((2, 5))])
    return ColumnMixture(means, means, variances, np.array([0.3, 0.7]), 0.0, 0.0, LEVELS), three, two


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


def test_shares_of_levels_are_smoothed_counts():
    """(count + overall share) / (rows + 1), by components given for certain."""
    rng = np.random.default_rng(1)
    table, _, a, _, seen = rows(rng, 200)
    labels = rng.integers(2, size=200)
    found = fit_columns(table, np.eye(2)[labels], 1, LEVELS)
    whole = np.bincount(a[seen[:, 1]], minlength=3) / seen[:, 1].sum()
    for k in range(2):
        counts = np.bincount(a[seen[:, 1] & (labels == k)], minlength=3)
        np.testing.assert_allclose(found.means[k, 1:4] / 0.7, (counts + whole) / (counts.sum() + 1))


def test_parameters_count_levels_that_occur():
    """One share, and for each component the levels it has less one for each category."""
    a, labels = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1, 1])
    table = Entries(np.eye(3)[a], np.ones((6, 3), bool))
    assert fit_columns(table, np.eye(2)[labels], 1, ((0, 3),)).complexity == 1 + (2 - 1) + (1 - 1)


def test_likelihood_never_falls_without_smoothing(monkeypatch):
    monkeypatch.setattr(columnwise, "LEVEL_ENTRIES", 1e-9)
    rng = np.random.default_rng(2)
    values = np.hstack([np.eye(4)[rng.integers(4, size=80)], np.eye(3)[rng.integers(3, size=80)]])
    table, start = Entries(values, np.ones(values.shape, bool)), rng.dirichlet(np.ones(3), 80)
    fits = [fit_columns(table, start, rounds, ((0, 4), (4, 7))).log_likelihood for rounds in range(1, 25)]
    assert np.all(np.diff(fits) >= -1e-9)
    assert fits[-1] > fits[0] + 1


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
    from sklearn.metrics import adjusted_rand_score

    rng = np.random.default_rng(3)
    cells, classes = simulated(rng)
    levels = tuple((4 * j, 4 * j + 4) for j in range(8))
    table = encoded(cells, hidden, rng)
    choice = choose(table, levels=levels)
    assert choice.n_clusters == 3
    assert adjusted_rand_score(classes, choice.classify(table).labels) > (0.95 if hidden == 0 else 0.8)
    assert choose(table, levels=levels, n_clusters=5).n_clusters == 5


def test_one_cluster_where_categories_are_independent():
    rng = np.random.default_rng(4)
    table = encoded(rng.integers(4, size=(300, 6)), 0.2, rng)
    assert choose(table, levels=tuple((4 * j, 4 * j + 4) for j in range(6))).n_clusters == 1
