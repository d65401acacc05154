"""Partitions fitted only as far as needed are compared as if all had been fitted in full."""

import numpy as np
import pytest

from fusewise.automatic.comparison import Comparison
from fusewise.automatic.criterion import criterion
from fusewise.automatic.cuts import grow, partitions
from fusewise.automatic.evidence import Evidence
from fusewise.automatic.mixture_fit import FAMILIES, FIRST_ROUNDS, PartitionFit, describe, fit_groups
from fusewise.automatic.rows import Rows, fit_axes, prior_variances
from fusewise.datasets import hide_entries, make_clusters
from fusewise.observations import as_entries


def placed(k, hidden, seed, noise=0.15):
    X, _, _ = make_clusters(k, 40, 6, noise=noise, random_state=seed)
    table = as_entries(hide_entries(X, hidden, random_state=seed))
    subspace = fit_axes(table, 4)
    evidence = Evidence.of(subspace, table)
    rows = Rows.of(evidence, prior_variances(subspace, evidence))
    return table, rows, partitions(grow(rows, 10), rows.places, 4.0, None)


def in_full(rows, labels):
    """The better of two fits that have converged."""
    fits = [
        fit_groups(rows.evidence, labels, rows.within(labels), rows.prior(int(labels.max()) + 1), family)
        for family in FAMILIES[: int(labels.max()) + 1]
    ]
    return max(fits, key=lambda fit: fit.fit - 0.5 * fit.complexity * np.log(len(labels)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("hidden", [0.0, 0.3])
def test_the_better_family_is_kept(seed, hidden):
    _, rows, candidates = placed(4, hidden, seed)
    for labels in candidates[:7]:
        found, expected = describe(rows, labels), in_full(rows, labels)
        assert found.family == expected.family
        assert found.fit == expected.fit


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("hidden", [0.0, 0.3])
def test_the_best_of_all_is_found_and_fitted_in_full(seed, hidden):
    table, rows, candidates = placed(5, hidden, seed, noise=0.3)
    compared = Comparison(rows, table)(candidates, compare_all=True)
    mixtures = [in_full(rows, labels) for labels in candidates]
    criteria = [criterion(rows.evidence, mixture, complete=hidden == 0) for mixture in mixtures]
    assert compared.best == int(np.argmax(criteria))
    for k in (0, compared.best):
        assert compared.criteria[k] == criteria[k]
    assert np.all(np.array(compared.criteria) <= np.array(criteria) + 1)


def test_rounds_add_up():
    _, rows, candidates = placed(3, 0.3, 0)
    fit = PartitionFit(rows, candidates[2])
    while not fit.done:
        fit.advance(FIRST_ROUNDS)
    assert fit.left == 0
    assert fit.mixture.fit == describe(rows, candidates[2]).fit
