"""Fitting of mixtures to groups, against simulated groups and SciPy's densities."""

import numpy as np
import pytest

from fusewise.automatic._comparison import best_of, criterion
from fusewise.automatic._cuts import grow, partitions
from fusewise.automatic._evidence import Evidence
from fusewise.automatic._mixture import TAIL, fit_groups, soften
from fusewise.automatic._rows import Rows, fit_axes, prior_variances
from fusewise.automatic._search import TreeSearch
from fusewise.datasets import hide_entries, make_clusters
from fusewise.observations import as_entries
from fusewise.progress import silent
from fusewise.subspace import Subspace

PAIR = np.array([[1.0, 0.5], [0.5, 0.8]]), np.array([[2.0, -0.9], [-0.9, 1.5]])
CENTRES = np.array([[0.0, 0.0], [3.0, -2.0]])


PLANE = Subspace(np.array([1.0, 2.0]), np.eye(2)[:, ::-1], np.ones(2), 1e-4)


def groups_of(shapes, draw, sizes, hidden=0.0, seed=0):
    """A table of groups in the plane about CENTRES, and their labels; in PLANE they are seen all but directly."""
    rng = np.random.default_rng(seed)
    X = np.concatenate(
        [c + draw(rng, size) @ np.linalg.cholesky(s).T for c, s, size in zip(CENTRES, shapes, sizes, strict=True)]
    )
    X[rng.uniform(size=X.shape) < hidden] = np.nan
    return X, np.repeat([0, 1], sizes)


def seen(X):
    return Evidence.of(PLANE, as_entries(X))


def fitted(X, labels, family, guess=1.0):
    return fit_groups(seen(X), labels, guess * np.eye(2), np.eye(2), family)


def in_the_table(fit):
    """Means and spreads, out of the coordinates of PLANE."""
    turn = PLANE.basis
    return PLANE.mean + fit.means @ turn.T, np.array([turn @ s @ turn.T for s in fit.spreads])


def student(rng, size):
    return rng.standard_normal((size, 2)) / np.sqrt(rng.chisquare(TAIL, size=(size, 1)) / TAIL)


def normal(rng, size):
    return rng.standard_normal((size, 2))


class TestFit:
    # 4000 rows: standard errors of about 0.02 in a mean and 3% in a spread. Five of them are allowed.
    SIZES = (4000, 4000)

    @pytest.mark.parametrize("hidden", [0.0, 0.3])
    def test_full_recovers_each_student_group(self, hidden):
        fit = fitted(*groups_of(PAIR, student, self.SIZES, hidden), "full")
        means, spreads = in_the_table(fit)
        np.testing.assert_allclose(means, CENTRES, atol=0.12)
        np.testing.assert_allclose(spreads, PAIR, atol=0.2)
        np.testing.assert_allclose(fit.shares, 0.5)

    @pytest.mark.parametrize("hidden", [0.0, 0.3])
    def test_scale_recovers_one_shape_in_two_sizes(self, hidden):
        shapes = PAIR[0], 4 * PAIR[0]
        fit = fitted(*groups_of(shapes, student, self.SIZES, hidden), "scale")
        means, spreads = in_the_table(fit)
        np.testing.assert_allclose(means, CENTRES, atol=0.15)
        for spread, shape in zip(spreads, shapes, strict=True):
            np.testing.assert_allclose(spread, shape, atol=0.12 * np.trace(shape))
        ratio = spreads[1] / spreads[0]
        np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-6)
        assert ratio[0, 0] == pytest.approx(4, rel=0.2)

    @pytest.mark.parametrize("family", ["scale", "full"])
    def test_fit_is_the_classification_likelihood(self, family):
        X, labels = groups_of(PAIR, student, (60, 90), 0.3)
        fit = fitted(X, labels, family)
        own = fit.log_densities(seen(X))[0][np.arange(150), labels]
        assert fit.fit == pytest.approx(own.sum(), rel=1e-7)

    @pytest.mark.parametrize("family", ["scale", "full"])
    def test_a_group_of_one_row_has_a_spread(self, family):
        X, labels = groups_of(PAIR, student, (60, 1))
        fit = fitted(X, labels, family)
        assert np.all(np.linalg.eigvalsh(fit.spreads) > 1e-3)
        np.testing.assert_allclose(in_the_table(fit)[0][1], X[-1], atol=1e-3)

    def test_a_row_far_away_hardly_moves_the_mean(self):
        # Of 101 rows one is 100 spreads off: it would move a plain mean by 1.
        X = groups_of(PAIR, normal, (100, 1))[0][:100]
        far = np.vstack([X, [100.0, 0.0]])
        without, with_it = (fitted(each, np.zeros(len(each), np.intp), "scale") for each in (X, far))
        assert np.abs(with_it.means - without.means).max() < 0.1

    @pytest.mark.parametrize("family", ["scale", "full"])
    def test_no_spread_at_all(self, family):
        evidence = Evidence.of(
            Subspace(np.zeros(4), np.eye(4)[:, :3], np.zeros(3), 1e-12), as_entries(np.zeros((9, 4)))
        )
        fit = fit_groups(evidence, np.arange(9) // 5, np.zeros((3, 3)), np.zeros((3, 3)), family)
        assert np.isfinite(fit.fit)
        np.testing.assert_allclose(fit.means, 0, atol=1e-9)


class TestSoften:
    @pytest.mark.parametrize("hidden", [0.0, 0.3])
    @pytest.mark.parametrize("family", ["scale", "full"])
    def test_overlapping_groups_are_found_from_a_hard_cut(self, family, hidden):
        # The shares of 1:3 groups that overlap, from a start that has cut them in half.
        rng = np.random.default_rng(0)
        X = np.concatenate([student(rng, 1000), student(rng, 3000) + np.array([3.5, 0.0])])
        X[rng.uniform(size=X.shape) < hidden] = np.nan
        X = X[~np.isnan(X).all(axis=1)]
        cut = (np.nan_to_num(X[:, 0], nan=3.5) > 2.6).astype(np.intp)
        start = fitted(X, cut, family)
        before = np.logaddexp.reduce(start.log_densities(seen(X))[0], axis=1).sum()
        end = soften(seen(X), start, np.eye(2), 30)
        after = np.logaddexp.reduce(end.log_densities(seen(X))[0], axis=1).sum()
        assert after > before
        np.testing.assert_allclose(end.shares, [0.25, 0.75], atol=0.05)
        np.testing.assert_allclose(in_the_table(end)[0], [[0, 0], [3.5, 0]], atol=0.3)
        assert end.shares.sum() == pytest.approx(1)


class TestComplexity:
    @staticmethod
    def complexity(k, r, family, size):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(k * size, r))
        evidence = Evidence.of(Subspace(np.zeros(r), np.eye(r), np.ones(r), 0.01), as_entries(X))
        return fit_groups(evidence, np.repeat(np.arange(k), size), np.eye(r), np.eye(r), family).complexity

    @pytest.mark.parametrize("r", [1, 2, 4])
    @pytest.mark.parametrize("k", [1, 2, 5])
    def test_scale(self, k, r):
        # Shares, means, one shape, and the sizes of the others.
        assert self.complexity(k, r, "scale", 10) == (k - 1) + k * r + r * (r + 1) / 2 + (k - 1)

    @pytest.mark.parametrize("r", [1, 2, 4])
    @pytest.mark.parametrize("k", [1, 2, 5])
    def test_full(self, k, r):
        # With many rows every group has a shape of its own; with few, less than that.
        whole = (k - 1) + k * r + k * r * (r + 1) / 2
        assert self.complexity(k, r, "full", 2000) == pytest.approx(whole, rel=0.01)
        if k > 1:
            assert self.complexity(k, r, "full", 5) < whole


def placed(k, hidden, seed, noise=0.15):
    X, _, _ = make_clusters(k, 40, 6, noise=noise, random_state=seed)
    table = as_entries(hide_entries(X, hidden, random_state=seed))
    subspace = fit_axes(table, 4)
    evidence = Evidence.of(subspace, table)
    rows = Rows.of(evidence, prior_variances(subspace, evidence))
    return table, rows, partitions(grow(rows), rows.places, 4.0, None)


def in_full(rows, labels):
    """The better of two fits that have converged."""
    fits = [
        fit_groups(rows.evidence, labels, rows.within(labels), rows.prior(int(labels.max()) + 1), family)
        for family in ("scale", "full")[: int(labels.max()) + 1]
    ]
    return max(fits, key=lambda fit: fit.fit - 0.5 * fit.complexity * np.log(len(labels)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("hidden", [0.0, 0.3])
def test_the_best_of_all_is_found_and_fitted_in_full(seed, hidden):
    table, rows, candidates = placed(5, hidden, seed, noise=0.3)
    compared = TreeSearch(table, table, (), 1.0, 1.0, None, silent).compared(rows, candidates)
    best = best_of(compared)
    mixtures = [in_full(rows, labels) for labels in candidates]
    criteria = [criterion(rows.evidence, mixture, complete=hidden == 0) for mixture in mixtures]
    assert best == int(np.argmax(criteria))
    for k in (0, best):
        assert compared[k].criterion == criteria[k]
    assert all(each.criterion <= most + 1 for each, most in zip(compared, criteria, strict=True))
