"""Copies of rows: counted as one where columns hold measurements, and worth less than different rows."""

import numpy as np
import pytest

from fusewise import FusionClustering
from fusewise.automatic._comparison import criterion
from fusewise.automatic._evidence import Evidence
from fusewise.automatic._mixture import fit_groups
from fusewise.automatic._sample import shares_of_copies, step, worth_of_rows
from fusewise.datasets import hide_entries, make_clusters
from fusewise.observations import as_entries
from fusewise.subspace import Subspace


def test_shares_add_up_to_the_number_of_different_rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 4))
    X[random.random(X.shape) < 0.3] = np.nan
    counts = random.integers(1, 5, 60)
    order = random.permutation(counts.sum())
    shares = shares_of_copies(as_entries(np.repeat(X, counts, axis=0)[order]))
    np.testing.assert_allclose(shares, np.repeat(1 / counts, counts)[order])
    assert worth_of_rows(shares) == pytest.approx(counts.sum() / np.square(counts).sum())


def test_equal_answers_are_no_copies():
    answers = np.random.default_rng(2).integers(0, 2, (200, 4)).astype(float)
    assert shares_of_copies(as_entries(answers)) is None
    measured = np.column_stack([answers, np.random.default_rng(2).normal(size=200)])
    assert shares_of_copies(as_entries(np.repeat(measured, 2, axis=0))) is not None


@pytest.mark.parametrize("scale", [1.0, 1 / 3, 1e6])
def test_values_that_are_equal_by_rounding_are_no_copies(scale):
    """Before, a single column of integers was taken for copies, and two groups far apart for one."""
    random = np.random.default_rng(3)
    rounded = np.round(random.normal(np.repeat([0, 100], 400), 20))[:, None]
    assert shares_of_copies(as_entries(rounded * scale)) is None
    assert FusionClustering().fit(rounded * scale).n_clusters_ == 2
    ages = np.column_stack([random.integers(18, 90, 2000), random.integers(0, 2, 2000)])
    assert shares_of_copies(as_entries(ages.astype(float))) is None
    exact = random.normal(np.repeat([0, 100], 400), 20)[:, None]
    assert shares_of_copies(as_entries(np.repeat(exact * scale, 3, axis=0))) is not None


def test_the_criterion_of_copies_is_that_of_the_rows():
    """Of every row m copies: m times the likelihood, each of which is worth 1/m."""
    X = np.vstack([np.random.default_rng(3).normal(size=(40, 2)), np.random.default_rng(4).normal(5, 1, (40, 2))])
    subspace = Subspace(np.zeros(2), np.eye(2), np.ones(2), 1e-3)
    labels = np.repeat([0, 1], 40)
    once = Evidence.of(subspace, as_entries(X))
    thrice = Evidence.of(subspace, as_entries(np.repeat(X, 3, axis=0)))
    mixture = fit_groups(once, labels, np.eye(2), np.eye(2), "full")
    densities = mixture.log_densities(thrice)[0]
    repeated = np.repeat(labels, 3)
    fit = densities[np.arange(240), repeated].sum()
    assert fit == pytest.approx(3 * mixture.fit, rel=1e-6)
    tripled = type(mixture)(mixture.means, mixture.spreads, mixture.shares, "full", fit, mixture.complexity)
    assert criterion(thrice, tripled, complete=True, worth=1 / 3) == pytest.approx(
        criterion(once, mixture, complete=True), rel=1e-6
    )


@pytest.mark.parametrize("copies", [4, 15])
def test_a_table_of_copies_has_the_clusters_of_the_rows(copies):
    """Before, four copies of a row were a cluster of their own."""
    X, _, _ = make_clusters(3, [40, 30, 20], 8, noise=0.08, random_state=0)
    X = hide_entries(X, 0.2, random_state=0)
    once, often = FusionClustering().fit(X), FusionClustering().fit(np.repeat(X, copies, axis=0))
    np.testing.assert_array_equal(often.labels_[::copies], once.labels_)


@pytest.mark.parametrize("d", [1.0, 0.1, 1 / 3, 250.0])
def test_the_step_of_rounded_values(d):
    values = np.unique(np.round(np.random.default_rng(0).normal(0, 30, 800)) * d)
    assert step(values) == pytest.approx(d)
    assert step(np.float32(values)) == pytest.approx(d, rel=1e-3)


@pytest.mark.parametrize("n_groups", [2, 3, 5])
def test_groups_of_one_rounded_column(n_groups):
    """Before, each value was a group of its own, and in the end all were one."""
    y = np.repeat(np.arange(n_groups), 400)
    X = np.round(np.random.default_rng(1).normal(60.0 * y, 10))[:, None]
    model = FusionClustering().fit(X)
    assert model.n_clusters_ == n_groups
    assert len(np.unique(np.c_[X, model.labels_[:, None]], axis=0)) == len(np.unique(X))  # equal rows, equal labels
