"""Which model of a cluster is kept: the one under which the table was drawn."""

import numpy as np
import pytest

from fusewise.automatic import choose
from fusewise.automatic.clusters import AlongAxes, Joined
from fusewise.automatic.columns import ColumnMixture
from fusewise.automatic.evidence import Evidence
from fusewise.automatic.mixture import Mixture, probabilities
from fusewise.datasets import hide_entries
from fusewise.observations import as_entries
from fusewise.subspace import Subspace

P = 20


def table(correlated, hidden, seed=0, n=300):
    """Three groups; within them columns are independent with noises of their own, or follow three common factors."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    centers = rng.normal(size=(3, P)) * 2
    noise = rng.uniform(0.5, 2.0, P) * rng.normal(size=(n, P))
    if correlated:
        noise = 2 * rng.normal(size=(n, 3)) @ rng.normal(size=(3, P)) + 0.3 * rng.normal(size=(n, P))
    return as_entries(hide_entries(centers[y] + noise, hidden, random_state=seed))


@pytest.mark.parametrize("hidden", [0.0, 0.4])
@pytest.mark.parametrize(("correlated", "kind"), [(False, ColumnMixture), (True, AlongAxes)])
def test_the_likelier_model_is_kept(correlated, kind, hidden):
    assert isinstance(choose(table(correlated, hidden), n_clusters=3).clusters, kind)


def test_one_cluster_lies_along_axes():
    assert isinstance(choose(table(False, 0.2), n_clusters=1).clusters, AlongAxes)


def test_along_axes_says_what_its_mixture_says():
    choice = choose(table(True, 0.4), n_clusters=3)
    rows = choice.units.applied(table(True, 0.4))
    densities, distances, dimensions = choice.clusters.log_densities(rows)
    evidence = Evidence.of(choice.subspace, rows)
    expected = choice.mixture.log_densities(evidence)
    np.testing.assert_allclose(densities, expected[0])
    np.testing.assert_allclose(distances, expected[1])
    np.testing.assert_array_equal(dimensions, evidence.dimensions)


def test_joined_clusters_are_sums_of_their_components():
    rng = np.random.default_rng(0)
    subspace = Subspace(np.zeros(4), np.linalg.qr(rng.normal(size=(4, 2)))[0], np.ones(2), 0.1)
    spreads = np.array([np.eye(2)] * 3)
    parts = AlongAxes(subspace, Mixture(rng.normal(size=(3, 2)), spreads, np.array([0.2, 0.3, 0.5]), "full", 0.0, 0.0))
    X = rng.normal(size=(30, 4))
    X[rng.random(X.shape) < 0.3] = np.nan
    table = as_entries(X)
    joined = Joined(parts, np.array([0, 1, 0]))
    own, total = probabilities(parts.log_densities(table)[0])
    posterior, together = probabilities(joined.log_densities(table)[0])
    np.testing.assert_allclose(together, total)
    np.testing.assert_allclose(posterior[:, 0], own[:, 0] + own[:, 2])
    np.testing.assert_allclose(joined.shares, [0.7, 0.3])
    np.testing.assert_allclose(joined.completed(table, posterior), parts.completed(table, own))
    np.testing.assert_allclose(joined.centers[0], (0.2 * parts.centers[0] + 0.5 * parts.centers[2]) / 0.7)
