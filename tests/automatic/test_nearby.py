"""Components near a row, against the densities of all components."""

import numpy as np
import pytest

from fusewise.automatic._clusters import AxisMixture, Clusters
from fusewise.automatic._columns import fit_columns
from fusewise.automatic._mixture import Mixture, probabilities
from fusewise.automatic._nearby import ALL_LEFT_OUT, MANY, nearby
from fusewise.automatic._rows import fit_axes
from fusewise.datasets import hide_entries
from fusewise.observations import as_entries

K = MANY + 6


@pytest.fixture(params=[0.0, 0.3])
def case(request):
    """A table, clusters along axes with varied spreads, and clusters with independent columns."""
    rng = np.random.default_rng(3)
    y = np.arange(900) % K
    centers = 12 * rng.standard_normal((K, 5))
    X = centers[y] + 0.3 * rng.standard_normal((900, 5))
    table = as_entries(hide_entries(X, request.param, random_state=0))
    subspace = fit_axes(table, 5)
    turned = 0.2 * rng.standard_normal((K, 5, 5))
    spreads = 0.1 * np.eye(5) * rng.uniform(0.5, 2, (K, 1, 1)) + turned @ turned.transpose(0, 2, 1)
    shares = rng.dirichlet(np.full(K, 5.0))
    means = (centers - subspace.mean) @ subspace.basis
    along = AxisMixture(subspace, Mixture(means, spreads, shares, "full", 0.0, 1.0))
    return table, along, fit_columns(table, np.eye(K)[y], 2)


def clusters_of(case, kind):
    _, along, columns = case
    if kind == "axes":
        return Clusters.of(along)
    if kind == "columns":
        return Clusters.of(columns)
    joined = Clusters.of(along, np.minimum(np.arange(K), K - 3))
    return joined if kind == "joined" else joined.beside(columns, 0.1)


@pytest.mark.parametrize("kind", ["axes", "columns", "joined", "beside"])
def test_no_component_that_counts_is_left_out(case, kind):
    table, clusters = case[0], clusters_of(case, kind)
    near, dimensions = nearby(clusters, table)
    densities, distances, all_dimensions = clusters.log_densities(table)
    np.testing.assert_array_equal(dimensions, all_dimensions)
    np.testing.assert_array_equal(near.labels, densities.argmax(axis=1))
    best = near.likeliest  # a part of a cluster that does not count may be nearer than the others
    np.testing.assert_allclose(near.distance[best], distances[near.row[best], near.labels], rtol=1e-4, atol=1e-6)
    posterior = probabilities(densities)[0]
    left_out = posterior.copy()
    left_out[near.row, near.component] = 0
    assert left_out.sum(axis=1).max() < ALL_LEFT_OUT
    np.testing.assert_allclose(near.dense(clusters.n_components), posterior, atol=ALL_LEFT_OUT)
    assert len(near.component) < 0.95 * densities.size  # some are
