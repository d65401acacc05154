"""Models for the tests of the plots."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import pytest

from fusewise import FusionClustering, PenalizedFusion
from fusewise.datasets import hide_entries, make_clusters
from fusewise.penalties import H1


@pytest.fixture(scope="session")
def table():
    X, _, _ = make_clusters(3, 25, 6, noise=0.06, random_state=0)
    return hide_entries(X, 0.25, random_state=1)


@pytest.fixture(scope="session")
def model(table):
    return FusionClustering().fit(table)


@pytest.fixture(scope="session")
def plain(table):
    """The paper's way: a path along lam."""
    return PenalizedFusion(penalty=H1(0.12)).fit(table)


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    plt.close("all")
