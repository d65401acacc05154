"""Effect sizes against SciPy, brute force and simulation."""

import numpy as np
import pytest
from scipy import stats

from fusewise.views import _contrasts as effects


def counts_of(x, y):
    distinct, places = np.unique(np.concatenate([x, y]), return_inverse=True)
    return [np.bincount(part, minlength=len(distinct)) for part in np.split(places, [len(x)])]


@pytest.fixture(params=[0, 1, 2])
def samples(request):
    """Two samples, with and without ties."""
    rng = np.random.default_rng(request.param)
    x, y = rng.normal(0.5, 1, 23), rng.normal(0, 2, 41)
    return (x.round(request.param), y.round(request.param)) if request.param < 2 else (x, y)


def test_error_of_cliffs_delta_is_delongs(samples):
    """Var(A) = var(placements of x) / n + var(placements of y) / m, with placements by comparing every pair."""
    x, y = samples
    wins = (x[:, None] > y) + (x[:, None] == y) / 2
    variance = wins.mean(axis=1).var(ddof=1) / len(x) + wins.mean(axis=0).var(ddof=1) / len(y)
    effect = effects.cliffs_delta(*counts_of(x, y))
    assert effect.error == pytest.approx(2 * variance**0.5)
    assert -1 <= effect.low < effect.value < effect.high <= 1


def test_intervals_of_cliffs_delta_cover():
    """x ~ N(1, 1), y ~ N(0, 1): P(x > y) = Phi(1 / sqrt(2)). Of 400 intervals 95% are to contain 2 P - 1."""
    rng, truth = np.random.default_rng(0), 2 * stats.norm.cdf(0.5**0.5) - 1
    found = [effects.cliffs_delta(*counts_of(rng.normal(1, 1, 25), rng.normal(0, 1, 40))) for _ in range(400)]
    covered = np.mean([effect.low <= truth <= effect.high for effect in found])
    assert covered == pytest.approx(0.95, abs=4 * (0.95 * 0.05 / 400) ** 0.5)


def test_samples_that_do_not_overlap():
    """All of 10 values lie above the others: the limit is that of 10 successes out of 10."""
    effect = effects.cliffs_delta(*counts_of(np.arange(10.0) + 100, np.arange(30.0)))
    exact = stats.binomtest(10, 10, alternative="two-sided").proportion_ci(0.95, "exact").low
    assert (effect.value, effect.high) == (1.0, 1.0)
    assert effect.low == pytest.approx(2 * exact - 1)
    turned = effects.cliffs_delta(*counts_of(np.arange(30.0), np.arange(10.0) + 100))
    assert (turned.value, turned.low, turned.high) == pytest.approx((-1.0, -1.0, -effect.low))


@pytest.mark.parametrize(("a", "n", "b", "m"), [(56, 70, 48, 80), (9, 10, 3, 10), (0, 10, 0, 20), (10, 10, 0, 20)])
def test_share_difference_is_newcombes(a, n, b, m):
    """Limits from SciPy's Wilson intervals."""
    effect = effects.share_difference(a, n, b, m)
    (l1, u1), (l2, u2) = (stats.binomtest(k, of).proportion_ci(method="wilson") for k, of in ((a, n), (b, m)))
    p, q = a / n, b / m
    low, high = p - q - ((p - l1) ** 2 + (u2 - q) ** 2) ** 0.5, p - q + ((u1 - p) ** 2 + (q - l2) ** 2) ** 0.5
    assert (effect.value, effect.low, effect.high) == pytest.approx((p - q, low, high))


def test_p_value_of_the_gap():
    """Near SciPy's exact one for samples of a hundred."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(0.25, 1, 100), rng.normal(0, 1, 120)
    exact = stats.ks_2samp(x, y, method="exact")
    assert effects.gap_p_value(exact.statistic, 100, 120) == pytest.approx(exact.pvalue, rel=0.15)


@pytest.mark.parametrize("unit", [1.0, 1e-200, 1e200])
def test_between_groups_is_scipys_column_by_column(unit):
    """Kruskal and Wallis's test, and eta² from F = (eta² / (K - 1)) / ((1 - eta²) / (n - K)); with ties and missing."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 60)
    table = rng.normal(size=(60, 5)) + 0.5 * (labels == 1)[:, None]
    table[:, 1] = table[:, 1].round()
    table[rng.random(table.shape) < 0.2] = np.nan
    table[labels == 2, 3] = np.nan  # a column with three groups
    eta, p_values = effects.between_groups(table * unit, labels)
    for j in range(5):
        groups = [part[~np.isnan(part)] for part in (table[labels == k, j] for k in range(4))]
        groups = [part for part in groups if len(part)]
        assert p_values[j] == pytest.approx(stats.kruskal(*groups).pvalue)
        k, n = len(groups), sum(map(len, groups))
        f = stats.f_oneway(*groups).statistic
        assert eta[j] == pytest.approx(f * (k - 1) / (f * (k - 1) + n - k))


def test_nothing_to_compare():
    table = np.column_stack([np.ones(4), np.arange(4.0), np.full(4, np.nan), [1.0, 2.0, np.nan, np.nan]])
    eta, p_values = effects.between_groups(table, np.array([0, 0, 1, 1]))
    assert eta == pytest.approx([0, 0.8, 0, 0])  # 0 1 | 2 3: the means 0.5 and 2.5, 4 of 5 between
    assert np.isnan(p_values).tolist() == [True, False, True, True]
