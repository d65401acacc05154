"""Rows in groups evaluated by a compiled loop: as NumPy does in other coordinates, and as far as plain EM gets."""

from dataclasses import replace

import numpy as np
import pytest

from fusewise.automatic.evidence import Evidence
from fusewise.automatic.mixture import Mixture, Spreads, em_step, evaluate, fit_means, row_weights, seen_of
from fusewise.automatic.mixture_fit import fit_groups
from fusewise.kernels import SMALL, few
from fusewise.kernels import _compiling as compiling
from fusewise.observations import as_entries
from fusewise.subspace import Subspace

R = 3


def table(rng, n=300, p=7, hidden=0.3, n_groups=4):
    """Rows of a few groups in a subspace, each group with a spread of its own; at least one row in each."""
    labels = np.concatenate([np.arange(n_groups), rng.integers(n_groups, size=n - n_groups)])
    means, spreads = 3 * rng.normal(size=(n_groups, R)), np.array([spread_of(rng) for _ in range(n_groups)])
    v = means[labels] + np.einsum("irs,is->ir", np.linalg.cholesky(spreads)[labels], rng.normal(size=(n, R)))
    basis = np.linalg.qr(rng.normal(size=(p, R)))[0]
    X = v @ basis.T + 0.3 * rng.normal(size=(n, p))
    X[rng.random(X.shape) < hidden] = np.nan
    evidence = Evidence.of(Subspace(np.zeros(p), basis, np.ones(R), 0.09), as_entries(X))
    return replace(evidence, small=False), labels, spreads


def spread_of(rng):
    root = rng.normal(size=(R, R))
    return root @ root.T + 0.1 * np.eye(R)


@pytest.mark.parametrize("hidden", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("renew", [True, False])
def test_a_round_is_that_of_numpy(hidden, renew):
    rng = np.random.default_rng(0)
    evidence, labels, spreads = table(rng, hidden=hidden)
    groups, shares, weights = evidence.grouped(labels, 4), rng.random(300), rng.random(300)
    found = evaluate(groups, spreads, shares, weights, renew=renew)
    explained = fit_means(groups, spreads, shares * weights)
    new = row_weights(groups.evidence, explained.distance) if renew else weights
    seen = seen_of(groups, explained, shares, new)
    for one, other in zip(found[:3], (explained.means, explained.density, explained.distance), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    for one, other in zip(found.seen, seen, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_a_direction_that_no_row_determines_stays_at_the_origin():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, R)) + 5
    X[:, 2] = np.nan
    evidence = replace(Evidence.of(Subspace(np.zeros(R), np.eye(R), np.ones(R), 0.01), as_entries(X)), small=False)
    found = evaluate(evidence.together, np.eye(R)[None], np.ones(300), np.ones(300), renew=False)
    np.testing.assert_allclose(found.means[0], [X[:, 0].mean(), X[:, 1].mean(), 0], atol=1e-6)


@pytest.mark.parametrize("family", ["scale", "full"])
@pytest.mark.parametrize("seed", range(6))
def test_a_fit_is_as_likely_as_that_of_plain_em(family, seed):
    rng = np.random.default_rng(seed)
    evidence, labels, _ = table(rng, hidden=(0.0, 0.2, 0.5)[seed % 3])
    prior, groups = 0.5 * np.eye(R), evidence.grouped(labels, 4)
    spreads, weights = Spreads(np.repeat(np.eye(R)[None], 4, axis=0), np.eye(R)), np.ones(300)
    for _ in range(100):
        explained = fit_means(groups, spreads.each, weights)
        weights = row_weights(groups.evidence, explained.distance)
        spreads = em_step(spreads, seen_of(groups, explained, np.ones(300), weights), prior, family)
    sizes = np.bincount(labels)
    reference = explained.density.sum() + sizes @ np.log(sizes / 300)
    assert fit_groups(evidence, labels, np.eye(R), prior, family).fit >= reference - 1e-3 * abs(reference)


def test_likelihoods_do_not_depend_on_the_coordinates():
    rng = np.random.default_rng(2)
    evidence, _, spreads = table(rng)
    factor, shares = np.linalg.cholesky(spread_of(rng)), np.full(4, 0.25)
    means, undone = rng.normal(size=(4, R)), np.linalg.inv(factor)
    here = Mixture(means, spreads, shares, "full", 0.0, 0.0).log_densities(evidence)
    turned = Mixture(means @ undone.T, undone @ spreads @ undone.T, shares, "full", 0.0, 0.0)
    for one, other in zip(turned.log_densities(evidence.turned(factor)), here, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_few_rows_are_left_to_numpy_until_loops_are_at_hand(monkeypatch):
    monkeypatch.setattr(compiling._watch, "at_hand", False)
    assert few(SMALL)
    assert not few(SMALL + 1)
    compiling._watch.numba()
    assert not few(1)
