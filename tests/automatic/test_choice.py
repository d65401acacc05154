"""What a choice says of rows: labels, probabilities, centres and completed values."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fusewise.automatic import choose
from fusewise.datasets import hide_entries, make_clusters
from fusewise.observations import as_entries


@pytest.fixture(scope="module")
def table():
    """Three clear clusters with 30% of the entries hidden, and the truth."""
    X, y, _ = make_clusters(3, 40, 10, noise=0.06, random_state=0)
    return hide_entries(X, 0.3, random_state=1), y


@pytest.fixture(scope="module")
def choice(table):
    return choose(as_entries(table[0]))


def test_the_best_criterion_is_taken(choice):
    assert choice.criteria[choice.chosen] == max(choice.criteria)
    assert len(choice.criteria) == len(choice.mixtures) == len(choice.partitions)
    assert [m.n_components for m in choice.mixtures] == list(range(1, len(choice.mixtures) + 1))


def test_lam_lies_between_the_joins(choice):
    # At lam the clusters have been joined, and with each other they are joined later.
    heights = np.sort(choice.tree.linkage[:, 2])
    assert choice.lam in heights
    assert choice.lam < heights[-(choice.mixture.n_components - 1) :].min()


def test_new_rows(choice):
    X, y, _ = make_clusters(3, 40, 10, noise=0.06, random_state=0)
    found = choice.classify(as_entries(X))
    assert adjusted_rand_score(y, found.labels) == 1
    assert found.outlying.mean() < 0.1
    far = choice.classify(as_entries(X + 50))
    assert far.outlying.all()


def test_centres_in_the_units_of_the_table(table, choice):
    # Means of the complete rows, to within the noise of 0.06 over 40 rows.
    X, y, _ = make_clusters(3, 40, 10, noise=0.06, random_state=0)
    centres = choice.centers
    labels = choice.classify(as_entries(table[0])).labels
    for k in range(3):
        (own,) = set(labels[table[1] == k])
        np.testing.assert_allclose(centres[own], X[y == k].mean(axis=0), atol=0.06)


@pytest.mark.parametrize("part", [0, 1j], ids=["real", "complex"])
def test_ambient_there_and_back(part):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 9)) + part * rng.normal(size=(60, 9))
    choice = choose(as_entries(X), rank=3)
    v = rng.normal(size=(7, 3 if part == 0 else 6))
    np.testing.assert_allclose(choice.places(as_entries(choice.ambient(v))), v, atol=1e-8)


def test_a_row_with_nothing_observed_is_completed_by_the_mean_of_the_centres(choice):
    X = np.full((2, 10), np.nan)
    X[1] = choice.centers[0]
    found = choice.classify(as_entries(X))
    np.testing.assert_allclose(found.posterior[0], choice.clusters.shares)
    assert not found.outlying[0]
    completed = choice.completed(as_entries(X), found.posterior)
    np.testing.assert_allclose(completed[0], choice.clusters.shares @ choice.centers)
    np.testing.assert_allclose(completed[1], X[1], atol=1e-3)


def test_holes_are_filled_to_within_the_noise(table, choice):
    # Knowing the cluster, a hole is known up to the noise of 0.06; the mean of the column misses it by 0.25.
    X, _, _ = make_clusters(3, 40, 10, noise=0.06, random_state=0)
    hidden = np.isnan(table[0])
    assert len(X) == len(hidden)
    entries = as_entries(table[0])
    completed = choice.completed(entries, choice.classify(entries).posterior)
    assert np.sqrt(np.mean((completed - X)[hidden] ** 2)) < 0.09
