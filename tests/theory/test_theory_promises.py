"""Success probability, its inverse, and the sentences."""

from dataclasses import replace

import numpy as np
import pytest

from fusewise import theory
from fusewise.theory import ClusterGeometry


def plan(**changes):
    values = {"n_clusters": 3, "size": 200, "n_features": 50, "kappa": 0.4, "mu0": 2.0} | changes
    return ClusterGeometry.from_parameters(**values)


def test_probability_is_one_minus_the_bounds():
    g, p0 = plan(), np.array([0.1, 0.3, 0.5, 0.9])
    ours = 1 - theory.sharp_failure(p0, g.separating, g.sizes)
    assert theory.success_probability(g, p0) == pytest.approx(ours, abs=1e-12)
    assert isinstance(float(theory.success_probability(g, 0.5)), float)
    assert theory.success_probability(replace(g, observed=0.5)) == theory.success_probability(g, 0.5)


def test_required_sampling_inverts():
    for target in (0.5, 0.95, 0.999):
        p0 = theory.required_sampling(plan(), target)
        assert theory.success_probability(plan(), p0) >= target
        assert theory.success_probability(plan(), p0 - 1e-6) < target


def test_complete_data_is_certain_below_one_and_silent_above():
    assert theory.success_probability(plan(kappa=0.999), 1.0) == 1
    assert theory.success_probability(plan(kappa=1.0), [0.5, 1.0]).tolist() == [0, 0]
    assert np.isnan(theory.required_sampling(plan(kappa=1.05)))
    assert "kappa = 1.05 is not below 1" in theory.promise(plan(kappa=1.05)).reason
    assert theory.promise(plan()).reason == ""


def test_counting_features_promises_where_kappa_cannot():
    """kappa > 1, yet every pair across differs by more than epsilon in some features: ours speaks, the paper cannot."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 20)
    X = rng.uniform(-0.5, 0.5, (40, 60))
    X[:, :12] += 2.2 * labels[:, None]
    g = ClusterGeometry.from_data(X, labels)
    assert g.kappa > 1
    assert g.separating >= 12
    assert theory.success_probability(g, 0.9) > 0.99


def test_sizes_need_not_be_equal():
    assert theory.success_probability(plan(size=[50, 20, 5]), 0.7) > 0.99


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="p0 = 2 is out of range"):
        theory.success_probability(plan(), 2)
    with pytest.raises(ValueError, match=r"target = 1\.5 is out of range"):
        theory.required_sampling(plan(), 1.5)


def test_sentences_carry_their_numbers():
    text = str(theory.promise(plan(), 0.5))
    for piece in ("3 clusters of 200 points each", "50 features", "kappa = 0.4", "mu0 = 2", "23 of the 50", "99.9%"):
        assert piece in text
    silent = str(theory.promise(plan(kappa=1.2), 0.5))
    assert "No guarantee: kappa = 1.2 is not below 1" in silent
    assert "may still work" in silent
    assert "certain" in str(theory.promise(plan(), 1.0))
    study = theory.ClusterGeometry.from_parameters(n_clusters=1, size=1, n_features=1, kappa=0.4, mu0=1)
    assert "1 cluster of 1 point, 1 feature," in str(theory.promise(study, 0.5))
