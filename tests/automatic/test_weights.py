"""Columns that count several times, or in part: log p_w(x | k) = sum_l d_l log p(x in the columns of layer l | k)."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import multivariate_t

from fusewise.automatic import ColumnMixture, Evidence, Mixture
from fusewise.automatic._columns import LevelEvidence, fit_columns
from fusewise.automatic._units import LevelBlock, Units, units_of
from fusewise.observations import Entries, SparseEntries, as_entries, as_sparse_entries
from fusewise.subspace import Subspace

#: Variance of the noise about the axes.
NOISE = 1e-4
#: Each with the same row several times, the columns observed in each, and how often it counts.
WEIGHTS = [
    ([1.0, 1.0, 1.0], [([0, 1, 2], 1)]),
    ([3.0, 1.0, 2.0], [([0, 1, 2], 1), ([0, 2], 1), ([0], 1)]),
    ([0.5, 0.5, 2.0], [([0, 1, 2], 0.5), ([2], 1.5)]),
]


def rows(weights, *, sparse=False):
    """Rows of three numbers, some missing, with weights."""
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3)) @ random.normal(size=(3, 3))
    X[random.random(X.shape) < 0.3] = np.nan
    X[:5] = random.normal(size=(5, 3))
    found = as_entries(X)
    table = Entries(found.values, found.mask, None, np.array(weights))
    if sparse:
        where = np.nonzero(~np.isnan(X))
        table = SparseEntries(as_sparse_entries(csr_matrix((X[where], where), X.shape)).rows, None, table.weights)
    return X, table


def by_copies(X, copies, log_density):
    """The log-density of each row as that of several rows of one cluster, observed in some of the columns each."""
    total = np.zeros(len(X))
    for columns, often in copies:
        for i, x in enumerate(X):
            seen = [j for j in columns if not np.isnan(x[j])]
            total[i] += often * (log_density(x[seen], seen) if seen else 0.0)
    return total


@pytest.mark.parametrize(("weights", "copies"), WEIGHTS)
@pytest.mark.parametrize("sparse", [False, True])
def test_components_along_axes(weights, copies, sparse):
    """In all dimensions the rows of a component have a multivariate t distribution with 5 degrees of freedom."""
    X, table = rows(weights, sparse=sparse)
    random = np.random.default_rng(1)
    basis, mean = np.linalg.qr(random.normal(size=(3, 3)))[0], random.normal(size=3)
    subspace = Subspace(mean, basis, np.ones(3), NOISE)
    means = random.normal(size=(2, 3))
    roots = random.normal(size=(2, 3, 3))
    spreads = roots @ roots.transpose(0, 2, 1) + 0.3 * np.eye(3)
    mixture = Mixture(means, spreads, np.array([0.3, 0.7]), "full", 0.0, 1.0)
    densities, _ = mixture.log_densities(Evidence.of(subspace, table))
    for k in range(2):
        location, shape = mean + basis @ means[k], basis @ spreads[k] @ basis.T + NOISE * np.eye(3)
        copied = by_copies(
            X, copies, lambda x, seen, m=location, s=shape: multivariate_t.logpdf(x, m[seen], s[np.ix_(seen, seen)], 5)
        )
        np.testing.assert_allclose(densities[:, k], copied + np.log(mixture.shares[k]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("weights", "copies"), WEIGHTS)
@pytest.mark.parametrize("sparse", [False, True])
def test_components_with_independent_columns(weights, copies, sparse):
    X, table = rows(weights, sparse=sparse)
    random = np.random.default_rng(2)
    means, variances = random.normal(size=(2, 3)), random.uniform(0.3, 2, (2, 3))
    shares, entries = np.array([0.4, 0.6]), np.full((2, 3), 20.0)
    mixture = ColumnMixture(means, means, variances, shares, 0.0, 1.0, entries)
    densities, _, _ = mixture.log_densities(table)
    for k in range(2):
        copied = by_copies(
            X,
            copies,
            lambda x, seen, m=means[k], s=variances[k]: multivariate_t.logpdf(x, m[seen], np.diag(s[seen]), 5),
        )
        np.testing.assert_allclose(densities[:, k], copied + np.log(shares[k]))


def levels(weight):
    """Rows with two categories of three and two levels, which are weighted."""
    random = np.random.default_rng(3)
    group = random.integers(0, 2, 60)
    one = np.where(random.random(60) < 0.7, group, random.integers(0, 3, 60))
    other = np.where(random.random(60) < 0.7, group, 1 - group)
    X = np.hstack([np.eye(3)[one], np.eye(2)[other]])
    X[:4, 3:] = np.nan
    blocks = (LevelBlock(0, 3), LevelBlock(3, 5))
    weights = np.repeat([1.0, weight], [3, 2])
    found = as_entries(X)
    return Entries(found.values, found.mask, None, weights), X, blocks, group


@pytest.mark.parametrize("weight", [2.0, 3.0])
def test_a_category_of_whole_weight_is_a_category_repeated(weight):
    """In latent classes and beside numbers, as of a table that has it so many times; it is evidence only once."""
    table, X, blocks, group = levels(weight)
    posterior = 0.1 + 0.8 * np.eye(2)[group]
    ours = fit_columns(table, posterior, 6, blocks)
    again = [LevelBlock(3 + 2 * k, 5 + 2 * k) for k in range(int(weight))]
    repeated = as_entries(np.hstack([X[:, :3], *[X[:, 3:]] * int(weight)]))
    theirs = fit_columns(repeated, posterior, 6, (blocks[0], *again))
    np.testing.assert_allclose(ours.means, theirs.means[:, :5])
    assert ours.log_likelihood == pytest.approx(theirs.log_likelihood)
    np.testing.assert_allclose(ours.log_densities(table)[0], theirs.log_densities(repeated)[0])
    evidence, other = LevelEvidence(table, blocks), LevelEvidence(repeated, (blocks[0], *again))
    assert evidence(group) == pytest.approx(LevelEvidence(as_entries(X), blocks)(group))
    np.testing.assert_allclose(evidence.log_shares(posterior), other.log_shares(posterior))


def test_a_category_of_half_a_weight_is_half_the_evidence():
    table, X, blocks, group = levels(0.5)
    first, both = as_entries(X[:, :3]), as_entries(X)
    one, two = LevelEvidence(first, blocks[:1])(group), LevelEvidence(both, blocks)(group)
    assert LevelEvidence(table, blocks)(group) == pytest.approx(one + 0.5 * (two - one))
    start = 0.1 + 0.8 * np.eye(2)[group]
    costs = [fit_columns(rows, start, 1, some).level_cost for rows, some in ((first, blocks[:1]), (both, blocks))]
    assert fit_columns(table, start, 1, blocks).level_cost == pytest.approx(sum(costs) / 2)


def test_units_are_longer_by_the_root_of_the_weight():
    random = np.random.default_rng(4)
    X = random.normal(size=(50, 4)) * [1, 10, 100, 1]
    X[:, 3] = random.integers(0, 2, 50)
    table, weights = as_entries(X), np.array([4.0, 1.0, 0.0, 9.0])
    (plain, _), (units, blocks) = units_of(table, (), table), units_of(table, (), table, weights)
    assert isinstance(units, Units)
    np.testing.assert_array_equal(units.columns, [0, 1, 3, 3])
    z = units.applied(table)
    np.testing.assert_array_equal(z.weights, [4, 1, 9, 9])
    np.testing.assert_allclose(z.values, np.sqrt(z.weights) * plain.applied(table).values[:, [0, 1, 3, 4]])
    np.testing.assert_allclose(units.undone(z.values)[:, [0, 1, 3]], X[:, [0, 1, 3]])
    assert blocks == (LevelBlock(2, 4),)
