"""Valleys along a trait: rows that fall into groups against rows that differ by degrees."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering
from fusewise.automatic.judging.trait_valleys import valley_along, with_hump

NODES = np.arange(-2.0, 2.5)


def at_nodes(traits, noise, seed):
    """log p of rows known along a trait up to normal noise, at the nodes of a model."""
    seen = traits + noise * np.random.default_rng(seed).standard_normal(len(traits))
    return -0.5 * np.square((seen[:, None] - NODES) / noise)


def graded(traits, columns=8, steps=7, seed=0):
    """A table of answers from 1 to `steps`, all of which depend on one trait of the row."""
    rng = np.random.default_rng(seed)
    cuts = np.linspace(-1.5, 1.5, steps - 1)
    answers = {
        f"question {j}": 1 + ((traits + 0.7 * rng.standard_normal(len(traits)))[:, None] > cuts).sum(axis=1)
        for j in range(columns)
    }
    levels = pd.CategoricalDtype(range(1, steps + 1), ordered=True)
    return pd.DataFrame(answers).astype(levels)


@pytest.mark.parametrize("top", range(1, 5))
def test_counts_with_a_hump_are_the_likeliest(top):
    """Against a search over a grid of all weights of that shape."""
    counts = np.array([3.0, 1.0, 2.0, 4.0])  # between two ends, which are left alone
    grid = [
        v for v in product(range(1, 11), repeat=4)
        if all(np.diff(v[:top]) >= 0) and all(np.diff(v[top:]) <= 0)
    ]  # fmt: skip
    best = max(float(counts @ np.log(np.array(v) / sum(v))) for v in grid)
    whole = with_hump(np.array([7.0, *counts, 5.0]), top)
    assert whole[[0, -1]].tolist() == [7.0, 5.0]
    found = whole[1:-1]
    assert found.sum() == pytest.approx(10)
    assert (np.diff(found[:top]) >= 0).all()
    assert (np.diff(found[top:]) <= 0).all()
    assert best - 1e-9 <= float(counts @ np.log(found / 10)) <= best + 0.02


@pytest.mark.parametrize("noise", [0.3, 0.5])
def test_degrees_have_no_valley_and_two_groups_have_one(noise):
    rng = np.random.default_rng(1)
    price = np.log(400)
    for seed in range(10):
        assert valley_along(at_nodes(rng.standard_normal(400), noise, seed)) < price
        assert valley_along(at_nodes(rng.exponential(size=400) - 1, noise, seed)) < price
        groups = np.where(rng.random(400) < 0.6, -1.0, 1.3) + 0.2 * rng.standard_normal(400)
        assert valley_along(at_nodes(groups, noise, seed)) > price


def test_a_free_fit_is_never_worse():
    for seed in range(5):
        assert valley_along(at_nodes(np.random.default_rng(seed).uniform(-2, 2, 50), 0.5, seed)) > -0.1


def test_two_groups_that_differ_in_every_answer_are_not_one_class_with_a_trait():
    """Nearly all answers of the first group are low, and those of the second differ by degrees."""
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], [250, 150])
    traits = np.where(y == 0, -1.4 + 0.2 * rng.standard_normal(400), 0.9 + 0.5 * rng.standard_normal(400))
    model = FusionClustering().fit(graded(traits))
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert model.path_.criteria[0] <= max(model.path_.criteria)


def test_degrees_alone_are_one_cluster():
    model = FusionClustering().fit(graded(np.random.default_rng(4).standard_normal(400)))
    assert model.n_clusters_ == 1
