"""Rare clusters among many rows, and none where there are none."""

import numpy as np
import pytest
from scipy.optimize import minimize

from fusewise import FusionClustering
from fusewise.automatic import _rare as rare
from fusewise.automatic import _sample as sample
from fusewise.automatic._rare import Surprises, kept_share, uniform, valley_gain
from fusewise.datasets import hide_entries
from fusewise.saving import load, save


@pytest.fixture(autouse=True)
def small_samples(monkeypatch):
    """Tables of some thousand rows are large."""
    monkeypatch.setattr(sample, "SAMPLE", 1500)
    monkeypatch.setattr(rare, "MOST", 1200)


def with_group(rng, n=6000, size=30, far=10.0, p=5):
    X = rng.standard_normal((n, p))
    way = rng.standard_normal(p)
    X[:size] += far * way / np.linalg.norm(way)
    return X


@pytest.mark.parametrize(("hidden", "fewest"), [(0.0, 29), (0.2, 24)])
def test_a_rare_group_is_a_cluster(rng, hidden, fewest):
    X = hide_entries(with_group(rng), hidden, random_state=1)
    model = FusionClustering().fit(X)
    assert model.n_clusters_ == 2
    assert np.count_nonzero(model.labels_[:30] == 1) >= fewest
    assert np.count_nonzero(model.labels_ == 1) <= 32


def test_the_model_can_be_saved_and_predicts_the_rare_group(rng, tmp_path):
    X = with_group(rng)
    model = FusionClustering().fit(X)
    save(model, tmp_path / "model.fusewise")
    again = load(tmp_path / "model.fusewise")
    np.testing.assert_array_equal(again.predict(X[:50]), model.labels_[:50])
    assert again.limits_ == model.limits_ == ()
    probabilities = again.predict_proba(X[:50])
    np.testing.assert_array_equal(probabilities[:30].argmax(axis=1), 1)


@pytest.mark.parametrize("kind", ["gaussian", "heavy tails", "skewed"])
def test_tails_are_no_clusters(kind):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((6000, 4))
        if kind == "heavy tails":
            X /= np.sqrt(rng.chisquare(3, (6000, 1)) / 3)
        if kind == "skewed":
            X[:, 0] = rng.gamma(2, size=6000)
        assert FusionClustering().fit(X).n_clusters_ == 1


def test_a_group_smaller_than_asked_for_is_left_out_and_that_is_said(rng):
    model = FusionClustering(min_cluster_size=200).fit(with_group(rng))
    assert model.n_clusters_ == 1
    assert any("min_cluster_size is 200" in sentence for sentence in model.limits_)


def test_categories_have_no_rare_clusters_and_that_is_said(rng):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": rng.choice(["x", "y", "z"], 1600), "b": rng.standard_normal(1600)})
    model = FusionClustering().fit(frame)
    assert any("categories" in sentence for sentence in model.limits_)


def test_weights_estimate_the_number_of_all_rows(monkeypatch):
    monkeypatch.setattr(rare, "MOST", 2000)
    rows = np.arange(100_000)
    tails = np.random.default_rng(0).random(100_000)
    all_rows = Surprises(uniform(rows, 7) * tails, rows, tails, tails, np.zeros(100_000, int), 0)
    found = all_rows.taken(np.argsort(all_rows.priority)[:2001]).in_order(len(all_rows.priority))
    for low, high in ((0, 0.01), (0.01, 0.1), (0.1, 1)):
        inside = (found.tail >= low) & (found.tail < high)
        # as many as there are, within four standard errors
        assert found.weights[inside].sum() == pytest.approx(100_000 * (high - low), rel=4 / np.sqrt(inside.sum()))


@pytest.mark.parametrize("kept", [[1, 1, 1, 1, 1, 1], [1, 1, 0.9, 0.5, 0.3, 0.2]])
@pytest.mark.parametrize("counts", [[9, 4, 0, 1, 7, 30], [1, 2, 0, 3, 10, 20], [5, 0, 0, 0, 0, 6]])
def test_the_gain_of_a_valley_is_that_of_numerical_optimisation(counts, kept):
    counts, kept = np.array(counts, float), np.array(kept, float)

    def best(signs):
        """Poisson likelihood of rates whose differences have given signs."""
        constraints = [
            {"type": "ineq", "fun": lambda rate, k=k, sign=sign: sign * (rate[k + 1] - rate[k])}
            for k, sign in enumerate(signs)
            if sign
        ]
        found = minimize(
            lambda rate: np.sum(kept * rate - counts * np.log(rate)), np.full(6, counts.mean()),
            bounds=[(1e-6, None)] * 6, constraints=constraints, options={"maxiter": 500, "ftol": 1e-10},
        )  # fmt: skip
        return -found.fun

    falls_then_rises = max(best([-1] * (k - 1) + [0] + [1] * (5 - k)) for k in range(1, 6))
    assert valley_gain(counts, kept) == pytest.approx(falls_then_rises - best([1] * 5), abs=0.02)


def test_a_sample_that_thins_out_is_no_valley():
    kept = np.array([1, 0.8, 0.6, 0.4, 0.2, 0.1])
    np.testing.assert_allclose(kept_share(np.array([9.0, 0, 3, 4, 2, 1]), np.array([9.0, 0, 5, 10, 10, 10])), kept)
    assert valley_gain(100 * kept, kept) == pytest.approx(0, abs=1e-9)
    assert valley_gain(100 * kept, np.ones(6)) > 50


@pytest.mark.parametrize("seed", [2, 3])
def test_a_uniform_cube_is_one_cluster(monkeypatch, seed):
    # Its corners are denser than the model expects; of their rows all are in the sample, of those in the middle few.
    monkeypatch.setattr(rare, "MOST", 4000)
    assert FusionClustering(random_state=seed).fit(np.random.default_rng(seed).random((8000, 5))).n_clusters_ == 1
