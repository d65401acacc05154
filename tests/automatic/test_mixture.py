"""Mixtures on the observed entries, against SciPy's densities, dense conditioning and simulated groups."""

import numpy as np
import pytest
from scipy import stats

from fusewise.automatic._evidence import Evidence
from fusewise.automatic._mixture import (
    TAIL,
    Mixture,
    Spreads,
    _information,
    _pulled,
    _seen,
    em_step,
    evaluate,
    fisher_step,
    fit_groups,
    row_weights,
)
from fusewise.observations import as_entries
from fusewise.subspace import Subspace

N, P = 12, 6


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


@pytest.mark.usefixtures("small")
class TestEvidence:
    def test_likelihood_of_given_coordinates(self, case):
        subspace, entries, v, _ = case
        e = Evidence.of(subspace, entries)
        found = e.constant - 0.5 * np.einsum("k,kli,l->i", v, e.precision[:, :, e.pattern], v) + v @ e.vector
        for i in range(N - 1):
            x, mean, covariance, _ = seen_law(subspace, entries, i, v, np.zeros((len(v), len(v))))
            assert found[i] == pytest.approx(stats.multivariate_normal.logpdf(x, mean, covariance))
        assert found[-1] == 0

    @pytest.mark.parametrize("full_rank", [True, False])
    def test_marginal_is_the_gaussian_of_the_observed_entries(self, case, full_rank):
        subspace, entries, mu, spread = case
        spread = spread if full_rank else np.outer(spread[0], spread[0])
        found = marginal_densities(Evidence.of(subspace, entries).together, mu[None], spread[None])
        for i in range(N - 1):
            x, mean, covariance, _ = seen_law(subspace, entries, i, mu, spread)
            assert found[i] == pytest.approx(stats.multivariate_normal.logpdf(x, mean, covariance), rel=1e-6)
        assert found[-1] == pytest.approx(0, abs=1e-9)

    def test_places_are_least_squares_and_dimensions_are_ranks(self, case):
        subspace, entries, mu, spread = case
        e = Evidence.of(subspace, entries)
        for i in range(N - 1):
            x, mean, _, Q = seen_law(subspace, entries, i, 0 * mu, spread)
            np.testing.assert_allclose(e.places[:, i], np.linalg.pinv(Q) @ (x - mean), atol=1e-7)
            assert e.dimensions[i] == np.linalg.matrix_rank(Q)
        assert e.dimensions[-1] == 0
        assert np.all(e.places[:, -1] == 0)

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


@pytest.mark.usefixtures("small")
class TestDensities:
    @staticmethod
    def mixture(rng, r, k=2):
        spreads = np.array([spread_of(rng, r) for _ in range(k)])
        shares = np.arange(1.0, k + 1) / np.arange(1, k + 1).sum()
        return Mixture(rng.normal(size=(k, r)), spreads, shares, "full", 0.0, 0.0)

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


@pytest.mark.parametrize("noise", [1e-2, 1e-4, 1e-6])
def test_distances_of_precise_rows_do_not_depend_on_other_rows(noise):
    """By brute force in the space of the entries, for rows with as few entries as determine some directions only.

    The others have a large variance, which must not drown the small ones.
    """
    rng = np.random.default_rng(0)
    subspace = subspace_of(rng, P, noise=noise)
    turn = np.linalg.qr(rng.normal(size=(P, P)))[0]
    mu, spread = 0.1 * rng.normal(size=P), (turn * [4.0, 1, 0.01, 0.01, 1e-3, 1e-3]) @ turn.T
    X = subspace.mean + rng.multivariate_normal(mu, spread, size=40) @ subspace.basis.T
    X[rng.random(X.shape) < 0.4] = np.nan
    X[0] = [np.nan, 1e3, *[np.nan] * 4]  # it makes the mean square large

    def distances(rows):
        return Evidence.of(subspace, as_entries(rows)).seen_from(mu[None], spread[None])[0][0]

    expected = []
    for i in range(len(X)):
        x, mean, covariance, _ = seen_law(subspace, as_entries(X), i, mu, spread)
        expected.append((x - mean) @ np.linalg.solve(covariance, x - mean))
    np.testing.assert_allclose(distances(X), expected, rtol=2e-3, atol=1e-6)
    alone = [distances(np.array([row, row]))[0] for row in X]
    np.testing.assert_allclose(alone, expected, rtol=2e-3, atol=1e-6)


R, ROWS = 3, 150


def symmetric(rng, *shape):
    x = rng.normal(size=(*shape, R, R))
    return x + np.swapaxes(x, -1, -2)


def table(rng, noise, spread=0.5):
    """Rows of two groups in a subspace, a third of the entries hidden; their evidence and labels."""
    labels = np.repeat([0, 1], [ROWS // 3, ROWS - ROWS // 3])
    basis = np.linalg.qr(rng.normal(size=(P, R)))[0]
    places = 2 * rng.normal(size=(2, R))[labels] + spread * rng.standard_t(TAIL, size=(ROWS, R))
    X = places @ basis.T + np.sqrt(noise) * rng.normal(size=(ROWS, P))
    X[rng.uniform(size=X.shape) < 0.3] = np.nan
    return Evidence.of(Subspace(np.zeros(P), basis, np.ones(R), noise), as_entries(X)), labels


def test_scatter_less_size_is_the_gradient_of_the_fit(rng):
    # Along Sigma = L (I + t X) L' the fit changes by t tr(X D) / 2, D = L^-1 scatter L^-T - n I: a finite difference.
    evidence, labels = table(rng, 0.1)
    groups, each = evidence.grouped(labels, 2), np.array([spread_of(rng, R), spread_of(rng, R)])
    means = rng.normal(size=(2, R))

    def fit(spreads):
        densities, distances = Mixture(means, spreads, np.full(2, 0.5), "full", 0.0, 0.0).log_densities(evidence)
        return densities[np.arange(ROWS), labels].sum(), distances[np.arange(ROWS), labels]

    marginal, weights = groups.marginal(each), row_weights(groups.evidence, fit(each)[1][groups.order])
    seen = _seen(groups, marginal, _pulled(groups, marginal, means)[2], np.ones(ROWS), weights)
    factors = np.linalg.cholesky(each)
    inverse = np.linalg.inv(factors)
    gradients = inverse @ seen.scatter @ inverse.transpose(0, 2, 1) - seen.sizes[:, None, None] * np.eye(R)
    x, step = symmetric(rng, 2), 1e-5
    moved = [factors @ (np.eye(R) + t * x) @ factors.transpose(0, 2, 1) for t in (step, -step)]
    difference = (fit(moved[0])[0] - fit(moved[1])[0]) / (2 * step)
    assert 0.5 * np.einsum("kij,kji->", x, gradients) == pytest.approx(difference, rel=1e-5)


def test_information_is_the_variance_of_the_score(rng):
    # Rows known exactly, 200,000 of them drawn from the Student's law itself: 1% of chance, 4% allowed.
    n = 200_000
    v = rng.standard_normal((n, R)) / np.sqrt(rng.chisquare(TAIL, size=(n, 1)) / TAIL)
    weights = (TAIL + R) / (TAIL + np.square(v).sum(axis=1))
    a, b = _information(R)
    for x in (np.eye(R), np.diag([1.0, -1.0, 0.0]), symmetric(rng)):
        scores = 0.5 * (weights * np.einsum("ni,ij,nj->n", v, x, v) - np.trace(x))
        expected = 0.5 * (a * np.trace(x @ x) - b * np.trace(x) ** 2)
        assert np.square(scores).mean() == pytest.approx(expected, rel=0.04)


@pytest.mark.parametrize("family", ["scale", "full"])
def test_both_steps_rest_at_the_same_place(rng, family):
    evidence, labels = table(rng, 0.05)
    groups, prior = evidence.grouped(labels, 2), 0.4 * np.eye(R)

    def settled(step, rounds):
        spreads, weights = Spreads(np.array([np.eye(R), np.eye(R)]), np.eye(R)), np.ones(ROWS)
        for _ in range(rounds):
            found = evaluate(groups, spreads.each, np.ones(ROWS), weights, renew=True)
            weights = row_weights(groups.evidence, found.distance)
            spreads = step(spreads, found.seen, prior, family)
        return spreads.each

    np.testing.assert_allclose(settled(fisher_step, 60), settled(em_step, 2000), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("family", ["scale", "full"])
@pytest.mark.parametrize("noise", [0.02, 0.5])
def test_a_fit_is_as_likely_as_that_of_plain_em(rng, family, noise):
    evidence, labels = table(rng, noise)
    prior, groups = 0.5 * np.eye(R), evidence.grouped(labels, 2)
    spreads, weights = Spreads(np.repeat(np.eye(R)[None], 2, axis=0), np.eye(R)), np.ones(ROWS)
    for _ in range(100):
        found = evaluate(groups, spreads.each, np.ones(ROWS), weights, renew=True)
        weights = row_weights(groups.evidence, found.distance)
        spreads = em_step(spreads, found.seen, prior, family)
    sizes = np.bincount(labels)
    reference = found.density.sum() + sizes @ np.log(sizes / ROWS)
    assert fit_groups(evidence, labels, np.eye(R), prior, family).fit >= reference - 1e-3 * abs(reference)


def test_likelihoods_do_not_depend_on_the_coordinates(rng):
    evidence, _ = table(rng, 0.1)
    spreads, factor = np.array([spread_of(rng, R) for _ in range(4)]), np.linalg.cholesky(spread_of(rng, R))
    means, undone, shares = rng.normal(size=(4, R)), np.linalg.inv(factor), np.full(4, 0.25)
    here = Mixture(means, spreads, shares, "full", 0.0, 0.0).log_densities(evidence)
    turned = Mixture(means @ undone.T, undone @ spreads @ undone.T, shares, "full", 0.0, 0.0)
    for one, other in zip(turned.log_densities(evidence.turned(factor)), here, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
