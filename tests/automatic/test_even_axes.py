"""Clusters that differ where columns vary little, found along the tree in which all axes count the same."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering
from fusewise.automatic.coordinates.axes import fit_axes, prior_variances
from fusewise.automatic.coordinates.evidence import Evidence
from fusewise.automatic.coordinates.placed_rows import Rows
from fusewise.automatic.search import searching
from fusewise.automatic.search.searching import TreeSearch
from fusewise.datasets import hide_entries
from fusewise.observations import as_entries


def animals(n=300, p=6, groups=3, seed=0):
    """Animals of all sizes; species differ in shape, by 5 standard deviations of what size does not explain."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % groups
    sizes, growth = rng.standard_normal((n, 2)), 4 * rng.standard_normal((2, p))
    along = np.linalg.qr(growth.T)[0]
    centres = rng.standard_normal((groups, p)) @ (np.eye(p) - along @ along.T)
    nearest = min(np.linalg.norm(centres[a] - centres[b]) for a in range(groups) for b in range(a))
    return sizes @ growth + 5 / nearest * centres[y] + rng.standard_normal((n, p)), y


def rows_of(X):
    table = as_entries(X)
    subspace = fit_axes(table, X.shape[1])
    evidence = Evidence.of(subspace, table)
    return Rows.of(evidence, prior_variances(subspace, evidence))


class TestEvened:
    @pytest.mark.parametrize("hidden", [0.0, 0.3])
    def test_the_same_rows_in_other_units(self, hidden):
        """The posterior of a row is the same, whatever the units of its coordinates."""
        rows = rows_of(hide_entries(animals()[0], hidden, random_state=0))
        even, unit = rows.evened(2.0), np.sqrt(np.maximum(rows.variances, 2.0))
        np.testing.assert_allclose(even.places * unit, rows.places, atol=1e-8)
        np.testing.assert_allclose(even.covariances * np.outer(unit, unit), rows.covariances, atol=1e-8)

    def test_all_axes_vary_alike(self):
        rows = rows_of(animals(3000)[0])
        assert rows.variances.max() > 20 * rows.variances.min()
        np.testing.assert_allclose(rows.evened(0.0).places.std(axis=0), 1, atol=0.1)

    def test_but_for_those_that_vary_less_than_the_noise(self):
        rows = rows_of(animals(3000)[0])
        noise = float(np.sort(rows.variances)[3])
        deviations = rows.evened(noise).places.std(axis=0)
        np.testing.assert_allclose(deviations[rows.variances >= noise], 1, atol=0.1)
        assert (deviations[rows.variances < noise / 1.2] < 0.95).all()


@pytest.fixture
def by_size_alone(monkeypatch):
    def switch():
        monkeypatch.setattr(TreeSearch, "by_even_axes", lambda _, found: found)

    return switch


@pytest.mark.parametrize("n_clusters", [None, 3])
def test_species_are_found_among_animals_of_all_sizes(n_clusters, by_size_alone):
    def score():
        tables = [animals(p=5, seed=seed) for seed in range(4)]
        fits = [FusionClustering(n_clusters=n_clusters, random_state=0).fit_predict(X) for X, _ in tables]
        return np.mean([adjusted_rand_score(y, labels) for (_, y), labels in zip(tables, fits, strict=True)])

    assert score() > 0.95
    by_size_alone()
    assert score() < 0.75


def test_in_a_subspace_where_nothing_is_found_otherwise(by_size_alone):
    """Species that differ along an axis that varies little, but still more than the noise of twenty columns."""
    X, y = animals(p=20, groups=2)
    X += 3 * np.outer(2 * y - 1, np.linalg.svd(X, full_matrices=False)[2][5])
    assert adjusted_rand_score(y, FusionClustering(random_state=0).fit(X).labels_) > 0.9
    by_size_alone()
    assert FusionClustering(random_state=0).fit(X).n_clusters_ == 1


def test_a_single_species_stays_one():
    for seed in range(3):
        X, y = animals(seed=seed)
        assert FusionClustering(random_state=0).fit(X[y == 0]).n_clusters_ == 1


def test_criteria_only_gain(by_size_alone):
    X, _ = animals()
    both = FusionClustering(random_state=0).fit(X).path_.criteria
    by_size_alone()
    alone = FusionClustering(random_state=0).fit(X).path_.criteria
    shared = min(len(both), len(alone))
    assert all(np.array(both[:shared]) >= np.array(alone[:shared]) - 1e-6)
    assert max(both) > max(alone)


def test_ctrl_c_keeps_what_was_found(monkeypatch):
    X, _ = animals()
    first = searching.grow
    calls = []

    def stopped(*given):
        calls.append(given)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return first(*given)

    monkeypatch.setattr(searching, "grow", stopped)
    with pytest.warns(ConvergenceWarning, match="interrupted: this is the best result in 6 dimensions"):
        found = FusionClustering(random_state=0).fit(X)
    assert not found.converged_
