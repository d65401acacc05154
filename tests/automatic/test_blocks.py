"""Tables with numbers and categories: one row model made of blocks."""

import numpy as np
import pytest
from scipy.special import gammaln
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering
from fusewise.automatic._clusters import AxisMixture
from fusewise.automatic._columns import PSEUDO_ENTRIES, LevelEvidence
from fusewise.automatic._units import LevelBlock
from fusewise.observations import as_entries

pd = pytest.importorskip("pandas")


def fitted(X, **parameters):
    return FusionClustering(random_state=0, **parameters).fit(X)


def choice_of(model):
    return model._result.choice


@pytest.fixture(scope="module")
def coins():
    return np.random.default_rng(7).integers(0, 2, 178)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_a_column_of_coin_tosses_changes_nothing(load, coins):
    X, _ = load(return_X_y=True)
    tossed = np.column_stack([X, coins[: len(X)]])
    assert adjusted_rand_score(fitted(X).labels_, fitted(tossed).labels_) > 0.97


def test_the_mean_of_two_values_is_a_centre(coins):
    X = np.column_stack([np.random.default_rng(0).normal(size=150) + 9 * (np.arange(150) < 70), coins[:150]])
    model = fitted(X)
    assert model.n_clusters_ == 2
    means = [X[model.labels_ == k].mean(axis=0) for k in range(2)]
    np.testing.assert_allclose(model.cluster_centers_, means, atol=0.2)


def test_a_level_that_the_sample_does_not_show():
    """One row in 12,000 has it: a sample of 5000 most likely misses it, and its share has a logarithm all the same."""
    random = np.random.default_rng(0)
    group = random.integers(0, 2, 12_000)
    answers = np.where(random.random((12_000, 6)) < 0.9, group[:, None], 1 - group[:, None]).astype(str)
    frame = pd.DataFrame(answers).astype("category").set_axis(list("abcdef"), axis=1)
    frame["a"] = frame["a"].cat.add_categories("2")
    frame.loc[11_999, "a"] = "2"
    model = fitted(frame)
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(group, model.labels_) > 0.9


def test_evidence_of_levels_by_its_definition():
    """The Dirichlet-multinomial evidence of two groups less that of one, at the best prior."""
    random = np.random.default_rng(1)
    level, labels = random.integers(0, 3, 40), random.integers(0, 2, 40)
    level[labels == 1] = np.where(random.random((labels == 1).sum()) < 0.8, 2, level[labels == 1])
    base = np.bincount(level) / 40

    def evidence(groups):
        counts = np.array([np.bincount(level[groups == k], minlength=3) for k in range(groups.max() + 1)])
        found = [
            sum(gammaln(a) - gammaln(a + n.sum()) + (gammaln(a * base + n) - gammaln(a * base)).sum() for n in counts)
            for a in PSEUDO_ENTRIES
        ]
        return max(*found, (counts * np.log(base)).sum())

    ours = LevelEvidence(as_entries(np.eye(3)[level]), (LevelBlock(0, 3),))
    assert ours(labels) == pytest.approx(evidence(labels) - evidence(np.zeros(40, int)))
    assert ours(labels) > 0
    assert ours(np.zeros(40, int)) == pytest.approx(0)


def test_densities_are_products_of_blocks(coins):
    mixed = pd.DataFrame(load_iris().data).set_axis(list("abcd"), axis=1).assign(flag=coins[:150] > 0)
    model = fitted(mixed)
    choice = choice_of(model)
    (clusters,) = choice.clusters.parts
    assert isinstance(clusters, AxisMixture)
    table = choice.units.applied(as_entries(model.encoder_.encode(mixed)))
    whole, _, _ = clusters.log_densities(table)
    codes = table.values[:, np.setdiff1d(np.arange(table.shape[1]), clusters.numbers)]
    alone = AxisMixture(clusters.subspace, clusters.mixture)
    numbers = alone.log_densities(as_entries(table.values[:, clusters.numbers]))[0]
    shares = clusters.categories.means / clusters.categories.means.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(whole - numbers, (codes > 0) @ np.log(shares).T, atol=1e-8)
