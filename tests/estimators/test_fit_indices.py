"""``model.alternatives().to_frame()``: fit indices by the formulas that people publish."""

import numpy as np
import pandas as pd
import pytest
from sklearn.mixture import GaussianMixture

from fusewise import FusionClustering, load
from fusewise.datasets import hide_entries, make_clusters
from fusewise.estimators._stability import fit_indices


@pytest.mark.parametrize("k", [1, 2, 3])
def test_formulas_are_those_of_scikit_learn(k):
    X = make_clusters(3, 40, 2, noise=0.4, random_state=0)[0]
    mixture = GaussianMixture(k, random_state=0).fit(X)
    found = fit_indices(mixture._estimate_weighted_log_prob(X), mixture._n_parameters())
    assert found["log_likelihood"] == pytest.approx(mixture.score(X) * 120)
    assert found["aic"] == pytest.approx(mixture.aic(X))
    assert found["bic"] == pytest.approx(mixture.bic(X))
    shares = np.maximum(mixture.predict_proba(X), 1e-300)
    entropy = -np.sum(shares * np.log(shares))
    assert found["icl"] == pytest.approx(mixture.bic(X) + 2 * entropy)
    assert found["entropy_r2"] == pytest.approx(1 - entropy / (120 * np.log(k)) if k > 1 else 1)


@pytest.mark.parametrize("hidden", [0.0, 0.3])
def test_every_number_that_was_compared(hidden, tmp_path):
    X = hide_entries(make_clusters(3, [40, 30, 20], 8, noise=0.05, random_state=0)[0], hidden, random_state=0)
    model = FusionClustering().fit(X * 1000)
    frame = model.alternatives().to_frame()
    assert len(frame) == len(model.path_.criteria)
    best = frame[frame["chosen"]].iloc[0]
    assert best["n_clusters"] == frame["n_clusters"][frame["bic"].argmin()] == 3
    assert best["entropy_r2"] > 0.95
    assert best["smallest_share"] == pytest.approx(20 / 90, abs=0.03)
    entries = np.sum(~np.isnan(X))
    assert best["log_likelihood"] / entries == pytest.approx(model.score(X * 1000), abs=0.05)
    model.save(tmp_path / "m")
    pd.testing.assert_frame_equal(load(tmp_path / "m").alternatives().to_frame(), frame)


def test_levels_of_categories_are_parameters():
    """Of K classes of two columns with 3 and 2 levels: K (2 + 1) level shares and K - 1 shares."""
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    words = {
        "a": np.array(list("xyz"))[np.where(random.random(120) < 0.9, y, random.integers(3, size=120))],
        "b": np.array(list("pq"))[np.where(random.random(120) < 0.9, y, 1 - y)],
    }
    frame = FusionClustering().fit(pd.DataFrame(words)).alternatives().to_frame()
    assert frame["parameters"][:2].tolist() == [3, 7]
