"""Theory, exact solver and fast method against each other: what is promised happens."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fusewise import fuse
from fusewise.datasets import hide_entries, make_clusters
from fusewise.exact import certify, solve_l0
from fusewise.fidelity import Box
from fusewise.penalties import H1
from fusewise.theory import ClusterGeometry, success_probability


def draw(n_clusters, size, n_features, epsilon, p0, seed):
    """Clusters that fill cubes of side epsilon, and the same with entries hidden."""
    X, y, centers = make_clusters(
        n_clusters, size, n_features, noise=epsilon, distribution="uniform", centers=_centers(n_clusters, n_features),
        random_state=seed,
    )  # fmt: skip
    return X, hide_entries(X, 1 - p0, random_state=seed), y, centers


def _centers(n_clusters, n_features):
    """Low-coherence centres: corners of the unit cube that differ in half of the features."""
    return np.array([(np.arange(n_features) >> k) & 1 for k in range(n_clusters)], dtype=float)


@pytest.mark.parametrize(
    ("n_clusters", "size", "n_features", "epsilon", "p0"),
    [(2, 20, 64, 0.4, 0.6), (3, 12, 64, 0.4, 0.65), (4, 10, 64, 0.0, 0.65)],
)
def test_theorem(n_clusters, size, n_features, epsilon, p0):
    """Where the promise is at least 0.99, the exact solver finds the truth in every one of 100 trials."""
    for seed in range(100):
        whole, holes, y, _ = draw(n_clusters, size, n_features, epsilon, p0, seed)
        geometry = ClusterGeometry.from_data(whole, y)
        assert success_probability(geometry, p0) >= 0.99
        solution = solve_l0(holes, geometry.epsilon, time_limit=30)
        assert solution.status == "optimal"
        assert adjusted_rand_score(y, solution.labels) == 1.0


def test_fast_method_is_certified_optimal():
    """On an easy problem the relaxation finds the very optimum of the l0 problem, and the certificate says so."""
    _, holes, y, centers = draw(3, 15, 64, 0.4, 0.6, seed=0)
    sigma = 0.15 * np.linalg.norm(centers[0] - centers[1])
    solution = fuse(holes, fidelity=Box(0.4), penalty=H1(sigma))
    assert adjusted_rand_score(y, solution.labels) == 1.0
    certificate = certify(holes, solution.labels, 0.4)
    assert certificate.gap == 0
    # 45 points in 3 groups of 15: ordered pairs apart = 45 * 30.
    assert certificate.objective == 45 * 30
