"""Mixtures on the observed entries, against SciPy's densities, dense conditioning and simulated groups."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from fusewise.automatic import evidence
from fusewise.automatic import mixture as module
from fusewise.automatic.evidence import Evidence
from fusewise.automatic.mixture import TAIL, Mixture, fit_groups, soften
from fusewise.kernels.lanes import LANES
from fusewise.kernels.pattern_systems import shifted_inverses
from fusewise.observations import as_entries
from fusewise.subspace import Subspace

N, P = 12, 6


@pytest.fixture(autouse=True, params=[10**9, 0], ids=["small", "compiled"])
def small(request, monkeypatch):
    """Every property holds of what is done without compiled loops, and with them."""
    monkeypatch.setattr(evidence, "SMALL", request.param)


def spread_of(rng, r):
    factor = rng.normal(size=(r, r))
    return factor @ factor.T + 0.2 * np.eye(r)


def subspace_of(rng, r, *, complex_=False, p=P, noise=0.3):
    part = 1j if complex_ else 0
    basis = np.linalg.qr(rng.normal(size=(p, r)) + part * rng.normal(size=(p, r)))[0]
    mean = rng.normal(size=p) + part * rng.normal(size=p)
    return Subspace(mean, basis, np.ones(r), noise)


def table_of(rng, *, complex_=False, n=N, p=P):
    """Rows with holes: the first complete, the last with nothing observed."""
    X = 2 * rng.normal(size=(n, p)) + (2j * rng.normal(size=(n, p)) if complex_ else 0)
    X[rng.uniform(size=X.shape) < 0.45] = np.nan
    X[0] = 1.0
    X[-1] = np.nan
    return as_entries(X)


def embedded(subspace, entries):
    """The same with real numbers only: real parts, then imaginary parts, half of the noise in each."""
    if not np.iscomplexobj(entries.values):
        return subspace.mean, subspace.basis, subspace.noise, entries.values, entries.mask
    Q, x = subspace.basis, entries.values
    return (
        np.concatenate([subspace.mean.real, subspace.mean.imag]),
        np.block([[Q.real, -Q.imag], [Q.imag, Q.real]]),
        subspace.noise / 2,
        np.concatenate([x.real, x.imag], axis=1),
        np.concatenate([entries.mask, entries.mask], axis=1),
    )


def seen_law(subspace, entries, i, mu, spread):
    """Observed entries of row i, their mean and their covariance."""
    mean, Q, noise, values, mask = embedded(subspace, entries)
    I = mask[i]  # noqa: E741
    covariance = Q[I] @ spread @ Q[I].T + noise * np.eye(I.sum())
    return values[i, I], (mean + Q @ mu)[I], covariance, Q[I]


def marginal_densities(groups, means, spreads):
    """c_i - m' (I - B_i^-1) m / 2 + h_i' m with m = L^-1 mu, in the order of the rows before they were grouped."""
    marginal = groups.marginal(spreads)
    found = np.empty(len(groups.order))
    for at, (i, k, u) in enumerate(zip(groups.order, groups.group, groups.evidence.pattern, strict=True)):
        m = np.linalg.solve(marginal.factor[:, :, k], means[k])
        seen = np.eye(len(m)) - marginal.inverse[:, :, u]
        found[i] = marginal.constant[at] - 0.5 * m @ seen @ m + marginal.target[:, at] @ m
    return found


@pytest.fixture(params=["real", "complex"])
def case(request):
    rng = np.random.default_rng(0)
    complex_ = request.param == "complex"
    subspace, entries = subspace_of(rng, 3, complex_=complex_), table_of(rng, complex_=complex_)
    r = 6 if complex_ else 3
    return subspace, entries, rng.normal(size=r), spread_of(rng, r)


class TestEvidence:
    def test_likelihood_of_given_coordinates(self, case):
        subspace, entries, v, _ = case
        e = Evidence.of(subspace, entries)
        found = e.constant - 0.5 * np.einsum("k,kli,l->i", v, e.precision[:, :, e.pattern], v) + v @ e.vector
        for i in range(N - 1):
            x, mean, covariance, _ = seen_law(subspace, entries, i, v, np.zeros((len(v), len(v))))
            assert found[i] == pytest.approx(stats.multivariate_normal.logpdf(x, mean, covariance))
        assert found[-1] == 0

    def test_marginal_is_the_gaussian_of_the_observed_entries(self, case):
        subspace, entries, mu, spread = case
        found = marginal_densities(Evidence.of(subspace, entries).together, mu[None], spread[None])
        for i in range(N - 1):
            x, mean, covariance, _ = seen_law(subspace, entries, i, mu, spread)
            assert found[i] == pytest.approx(stats.multivariate_normal.logpdf(x, mean, covariance), rel=1e-7)
        assert found[-1] == pytest.approx(0, abs=1e-12)

    def test_marginal_with_a_spread_of_less_than_full_rank(self, case):
        subspace, entries, mu, spread = case
        spread = np.outer(spread[0], spread[0])
        found = marginal_densities(Evidence.of(subspace, entries).together, mu[None], spread[None])
        for i in range(N - 1):
            x, mean, covariance, _ = seen_law(subspace, entries, i, mu, spread)
            assert found[i] == pytest.approx(stats.multivariate_normal.logpdf(x, mean, covariance), rel=1e-6)

    def test_places_are_least_squares_and_dimensions_are_ranks(self, case):
        subspace, entries, mu, spread = case
        e = Evidence.of(subspace, entries)
        for i in range(N - 1):
            x, mean, _, Q = seen_law(subspace, entries, i, 0 * mu, spread)
            np.testing.assert_allclose(e.places[:, i], np.linalg.pinv(Q) @ (x - mean), atol=1e-7)
            assert e.dimensions[i] == np.linalg.matrix_rank(Q)
        assert e.dimensions[-1] == 0
        assert np.all(e.places[:, -1] == 0)

    def test_each_row_with_the_spread_of_its_group(self, case):
        subspace, entries, mu, spread = case
        e = Evidence.of(subspace, entries)
        spreads = np.array([spread, 3 * np.eye(len(mu))])
        labels = np.arange(N) % 2
        means = np.array([mu, -mu])
        groups = e.grouped(labels, 2)
        found = marginal_densities(groups, means, spreads)
        each = [marginal_densities(e.together, m[None], s[None]) for m, s in zip(means, spreads, strict=True)]
        np.testing.assert_allclose(found, np.array(each)[labels, np.arange(N)], rtol=1e-10, atol=1e-10)
        np.testing.assert_array_equal(groups.group, labels[groups.order])
        np.testing.assert_array_equal(groups.begin, [0, N // 2, N])
        assert groups.pattern_begin[-1] == groups.evidence.precision.shape[2]

    def test_rows_may_be_asked_for_more_than_once(self, case):
        subspace, entries, mu, spread = case
        e = Evidence.of(subspace, entries)
        rows = np.array([3, 0, 3, 5, 3])
        found = marginal_densities(e.grouped(np.array([0, 0, 0, 0, 1]), 2, rows), [mu, mu], np.array([spread, spread]))
        np.testing.assert_allclose(found, marginal_densities(e.together, mu[None], spread[None])[rows], rtol=1e-12)

    @pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
    @pytest.mark.parametrize("small", [True, False])
    def test_inverses_in_blocks_of_any_length(self, n, small):
        rng = np.random.default_rng(n)
        half = rng.normal(size=(n, 4, 3))
        precision = np.ascontiguousarray((half.transpose(0, 2, 1) @ half).transpose(1, 2, 0))
        factors = np.tril(rng.normal(size=(2, 3, 3)))
        first = n // 3
        inverse, log_det, root = shifted_inverses(
            precision, np.ascontiguousarray(factors.transpose(1, 2, 0)), np.array([0, first, n]), True, small
        )
        for u in range(n):
            L = factors[int(u >= first)]
            B = np.eye(3) + L.T @ precision[:, :, u] @ L
            np.testing.assert_allclose(inverse[:, :, u], np.linalg.inv(B), rtol=1e-8, atol=1e-12)
            np.testing.assert_allclose(root[:, :, u].T @ root[:, :, u], np.linalg.inv(B), rtol=1e-8, atol=1e-12)
            assert log_det[u] == pytest.approx(np.linalg.slogdet(B)[1])

    def test_rows_with_the_same_holes_share_a_pattern(self):
        # 20 columns: patterns that differ only beyond the first two bytes are told apart.
        rng = np.random.default_rng(0)
        mask = np.repeat(rng.uniform(size=(5, 20)) < 0.5, 3, axis=0)
        mask[12:] = mask[0]
        mask[12:, 19] = ~mask[0, 19]
        order = rng.permutation(15)
        entries = as_entries(np.where(mask, 1.0, np.nan)[order])
        e = Evidence.of(subspace_of(rng, 3, p=20), entries)
        assert e.precision.shape == (3, 3, 5)
        same = np.all(mask[order][:, None] == mask[order], axis=2)
        np.testing.assert_array_equal(e.pattern[:, None] == e.pattern, same)

    def test_posterior_is_gaussian_conditioning(self, case):
        subspace, entries, mu, _ = case
        variances = np.linspace(0.0, 2.0, len(mu))  # the first coordinate does not vary
        means, covariances = Evidence.of(subspace, entries).posterior(variances)
        prior = np.diag(variances)
        for i in range(N - 1):
            x, mean, covariance, Q = seen_law(subspace, entries, i, 0 * mu, prior)
            gain = np.linalg.solve(covariance, Q @ prior).T
            np.testing.assert_allclose(means[i], gain @ (x - mean), atol=1e-9)
            np.testing.assert_allclose(covariances[i], prior - gain @ Q @ prior, atol=1e-9)
        np.testing.assert_allclose(covariances[-1], prior, atol=1e-12)


class TestDensities:
    @staticmethod
    def mixture(rng, r, k=2):
        spreads = np.array([spread_of(rng, r) for _ in range(k)])
        shares = np.arange(1.0, k + 1) / np.arange(1, k + 1).sum()
        return Mixture(rng.normal(size=(k, r)), spreads, shares, "full", 0.0, 0.0)

    def test_light_tails_are_gaussian(self, case, monkeypatch):
        # At 1e7 degrees of freedom a Student's law is the Gaussian to within d² / nu.
        monkeypatch.setattr(module, "TAIL", 1e7)
        subspace, entries, mu, _ = case
        mixture = self.mixture(np.random.default_rng(1), len(mu))
        densities, _ = mixture.log_densities(Evidence.of(subspace, entries))
        for k in range(2):
            for i in range(N - 1):
                x, mean, covariance, _ = seen_law(subspace, entries, i, mixture.means[k], mixture.spreads[k])
                expected = np.log(mixture.shares[k]) + stats.multivariate_normal.logpdf(x, mean, covariance)
                assert densities[i, k] == pytest.approx(expected, rel=1e-4, abs=1e-4)

    @pytest.mark.parametrize("complex_", [False, True])
    def test_student_of_the_observed_entries_where_coordinates_span_the_table(self, complex_):
        # With a basis of all P directions no entry is left about the subspace: the row is Student throughout.
        rng = np.random.default_rng(2)
        subspace, entries = subspace_of(rng, P, complex_=complex_), table_of(rng, complex_=complex_)
        mixture = self.mixture(rng, 2 * P if complex_ else P)
        densities, distances = mixture.log_densities(Evidence.of(subspace, entries))
        for k in range(2):
            for i in range(N - 1):
                x, mean, covariance, _ = seen_law(subspace, entries, i, mixture.means[k], mixture.spreads[k])
                expected = np.log(mixture.shares[k]) + stats.multivariate_t.logpdf(x, mean, covariance, df=TAIL)
                assert densities[i, k] == pytest.approx(expected, rel=1e-6)
                assert distances[i, k] == pytest.approx((x - mean) @ np.linalg.solve(covariance, x - mean), rel=1e-6)
        np.testing.assert_allclose(densities[-1], np.log(mixture.shares), atol=1e-6)  # a row with nothing observed
        np.testing.assert_allclose(distances[-1], 0, atol=1e-6)

    def test_rows_of_many_patterns_are_as_rows_of_few(self):
        # More patterns of holes than are worked on at once.
        rng = np.random.default_rng(4)
        X = rng.normal(size=(5 * LANES // 2, 12))
        X[rng.random(X.shape) < 0.4] = np.nan
        subspace = Subspace(np.zeros(12), np.linalg.qr(rng.normal(size=(12, 5)))[0], np.ones(5), 0.5)
        mixture, few = self.mixture(rng, 5), np.array_split(np.arange(len(X)), 20)
        evidence = Evidence.of(subspace, as_entries(X))
        assert evidence.precision.shape[2] > 2 * LANES
        for found, *parts in zip(
            mixture.log_densities(evidence),
            *(mixture.log_densities(Evidence.of(subspace, as_entries(X[rows]))) for rows in few),
            strict=True,
        ):
            np.testing.assert_allclose(found, np.concatenate(parts), rtol=1e-5, atol=1e-5)

    def test_conditional_is_gaussian_conditioning(self, case):
        subspace, entries, mu, _ = case
        mixture = self.mixture(np.random.default_rng(3), len(mu))
        for k in range(2):
            spread, centre = mixture.spreads[k], mixture.means[k]
            evidence = Evidence.of(subspace, entries)
            groups = evidence.grouped(np.full(N, k), 2)
            r, back = len(mu), groups.order.argsort()
            means = mixture.conditional(groups)[back]
            # What a unit of noise adds in each direction is a root of the covariance.
            steps = [mixture.conditional(groups, np.outer(unit, np.ones(N)))[back] - means for unit in np.eye(r)]
            covariances = np.einsum("aik,ail->ikl", np.array(steps), np.array(steps))
            for i in range(N):
                x, mean, covariance, Q = seen_law(subspace, entries, i, centre, spread)
                gain = np.linalg.solve(covariance, Q @ spread).T if len(x) else np.zeros((len(mu), 0))
                np.testing.assert_allclose(means[i], centre + gain @ (x - mean), rtol=1e-6, atol=1e-8)
                np.testing.assert_allclose(covariances[i], spread - gain @ Q @ spread, rtol=1e-6, atol=1e-8)


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


@pytest.mark.parametrize("family", ["scale", "full"])
@pytest.mark.parametrize("rounds", [1, 2, 3, 5, 8, 15])
def test_the_fit_is_that_of_the_components_returned(family, rounds, monkeypatch):
    # Wherever the rounds end: a step that was not tried yet is not taken, one that failed neither.
    monkeypatch.setattr(module, "ROUNDS", rounds)
    X, labels = groups_of(PAIR, student, (60, 90), hidden=0.3)
    fit = fitted(X, labels, family, guess=50.0)
    densities, _ = fit.log_densities(seen(X))
    assert fit.fit == pytest.approx(densities[np.arange(len(X)), labels].sum(), rel=1e-7)


@pytest.mark.parametrize("family", ["scale", "full"])
def test_more_rounds_never_fit_worse(family, monkeypatch):
    X, labels = groups_of(PAIR, student, (60, 90), hidden=0.3)
    fits = []
    for rounds in range(1, 16):
        monkeypatch.setattr(module, "ROUNDS", rounds)
        fits.append(fitted(X, labels, family, guess=50.0).fit)
    assert np.diff(fits).min() >= -1e-9
    assert fits[-1] > fits[0] + 1


def gaussian_shrinkage(r):
    """c with Sigma = c Cov, where a Student's fit to Gaussian data settles: E[w d²] = r, d² ~ chi²_r / c."""

    def excess(c):
        def weighed(q):
            return (TAIL + r) / (TAIL + q / c) * q / c * stats.chi2.pdf(q, r)

        return integrate.quad(weighed, 0, np.inf)[0] - r

    return optimize.brentq(excess, 0.2, 1.0, xtol=1e-6)


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
    def test_gaussian_groups_keep_their_shape(self, family):
        # A Student's fit to Gaussian rows is theirs, smaller by a factor that quadrature gives.
        shapes = PAIR[0], 2 * PAIR[0]
        fit = fitted(*groups_of(shapes, normal, self.SIZES), family)
        means, spreads = in_the_table(fit)
        np.testing.assert_allclose(means, CENTRES, atol=0.15)
        for spread, shape in zip(spreads, shapes, strict=True):
            np.testing.assert_allclose(spread, gaussian_shrinkage(2) * shape, atol=0.1 * np.trace(shape))

    @pytest.mark.parametrize("family", ["scale", "full"])
    def test_fit_is_the_classification_likelihood(self, family):
        X, labels = groups_of(PAIR, student, (60, 90), 0.3)
        fit = fitted(X, labels, family)
        own = fit.log_densities(seen(X))[0][np.arange(150), labels]
        assert fit.fit == pytest.approx(own.sum(), rel=1e-7)

    @pytest.mark.parametrize("family", ["scale", "full"])
    def test_names_and_order_do_not_matter(self, family):
        X, labels = groups_of(PAIR, student, (60, 90), 0.3)
        one = fitted(X, labels, family)
        other = fitted(X, 1 - labels, family)
        order = np.random.default_rng(0).permutation(150)
        third = fitted(X[order], labels[order], family)
        for same, names in ((other, [1, 0]), (third, [0, 1])):
            assert same.fit == pytest.approx(one.fit)
            assert same.complexity == one.complexity
            np.testing.assert_allclose(same.means[names], one.means, atol=1e-8)
            np.testing.assert_allclose(same.spreads[names], one.spreads, atol=1e-8)
            np.testing.assert_allclose(same.shares[names], one.shares)

    @pytest.mark.parametrize("family", ["scale", "full"])
    def test_the_first_guess_hardly_matters(self, family):
        X, labels = groups_of(PAIR, student, (200, 200), 0.3)
        near, far = (fitted(X, labels, family, guess) for guess in (1.0, 3.0))
        assert near.fit == pytest.approx(far.fit, abs=0.01 * abs(near.fit))
        np.testing.assert_allclose(near.spreads, far.spreads, atol=0.1)

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
    def test_a_direction_without_variance_does_not_disturb_the_others(self, family):
        # A third column that is constant, known to 1e-5: means along the others are as without it.
        X, labels = groups_of(PAIR, normal, (60, 60))
        tiny = np.diag([1.0, 1.0, 1e-9])
        space = Subspace(np.append(PLANE.mean, 5.0), np.eye(3), np.ones(3), 1e-11)
        evidence = Evidence.of(space, as_entries(np.column_stack([X, np.full(120, 5.0)])))
        fit = fit_groups(evidence, labels, tiny, tiny, family)
        expected = fit_groups(Evidence.of(Subspace(PLANE.mean, np.eye(2), np.ones(2), 1e-11), as_entries(X)),
                              labels, np.eye(2), np.eye(2), family)  # fmt: skip
        np.testing.assert_allclose(fit.means[:, :2], expected.means, atol=0.05)
        np.testing.assert_allclose(fit.means[:, 2], 0, atol=1e-6)

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

    def test_groups_far_apart_stay_as_they_are(self):
        rng = np.random.default_rng(1)
        X = np.concatenate([student(rng, 200), student(rng, 300) + 1000.0])
        start = fitted(X, np.repeat([0, 1], [200, 300]), "full")
        end = soften(seen(X), start, np.eye(2), 4)
        np.testing.assert_allclose(end.means, start.means, atol=0.05)
        np.testing.assert_allclose(end.shares, start.shares, atol=1e-3)

    def test_no_rounds_change_nothing(self):
        start = fitted(*groups_of(PAIR, student, (60, 90)), "scale")
        end = soften(seen(groups_of(PAIR, student, (60, 90))[0]), start, np.eye(2), 0)
        np.testing.assert_array_equal(end.means, start.means)
        np.testing.assert_array_equal(end.spreads, start.spreads)


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
