"""The best cuts of a merge tree, against all partitions along it."""

from itertools import product
from math import log

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from fusewise.automatic._cuts import Scores, best_cuts, branches, cut, grow, labels_of
from fusewise.automatic._evidence import Evidence
from fusewise.automatic._mixture import TAIL, describe
from fusewise.automatic._rows import Rows, fit_axes, prior_variances
from fusewise.datasets import hide_entries
from fusewise.observations import as_entries


def placed(X):
    table = as_entries((X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0))
    subspace = fit_axes(table, X.shape[1])
    evidence = Evidence.of(subspace, table)
    rows = Rows.of(evidence, prior_variances(subspace, evidence))
    return rows, grow(rows)


def test_the_score_of_a_branch_is_the_largest_likelihood_of_one_group(rng):
    rows, tree = placed(rng.standard_normal((60, 2)))
    common = np.array([[0.5, 0.1], [0.1, 0.3]])
    shape = branches(tree, tree.sizes >= 20)
    scores = Scores(tree, rows, shape, common)
    places = rows.evidence.places.T
    covariance = np.linalg.inv(rows.evidence.precision[:, :, 0])
    for branch, node in enumerate(shape.top):
        own = places[tree.members(int(node))]

        def negative(parameters, own=own):
            away = own - parameters[:2]
            tau = np.exp(parameters[2])
            square = np.einsum("ir,rs,is->i", away, np.linalg.inv(common + covariance), away)
            penalty = 2 * parameters[2] + 2 / tau  # r + 2 pseudo-entries of size 1: half of 4 (log tau + 1 / tau)
            return np.sum(parameters[2] + (TAIL + 2) / 2 * np.log1p(square / TAIL / tau)) + penalty

        best = minimize(negative, np.append(own.mean(axis=0), 0.0))
        tau = np.exp(best.x[2])
        likelihood = -(best.fun - 2 * best.x[2] - 2 / tau) + len(own) * log(len(own))
        assert scores.alone[branch] == pytest.approx(likelihood, abs=0.5)
        np.testing.assert_allclose(scores.fits[branch, :2], best.x[:2], atol=0.05)


@pytest.mark.parametrize("price", [2.0, 10.0, 40.0])
def test_no_other_partition_along_the_tree_is_better(price):
    X, _ = make_blobs(120, 2, centers=4, random_state=0)
    rows, tree = placed(X)
    shape = branches(tree, tree.sizes >= 12)
    common = 0.05 * np.eye(2)
    scores = Scores(tree, rows, shape, common)

    def partitions(k):
        yield (k,)
        if shape.left[k] >= 0:
            for one, other in product(partitions(shape.left[k]), partitions(shape.right[k])):
                yield (*one, *other)

    def inside(k):
        return {k} | (inside(shape.left[k]) | inside(shape.right[k]) if shape.left[k] >= 0 else set())

    def value(chosen):
        cut_branches = inside(shape.root) - set().union(*(inside(k) for k in chosen))
        return sum(scores.alone[list(chosen)]) + sum(scores.rest[k] - price for k in cut_branches)

    best = max(partitions(shape.root), key=value)
    assert cut(tree, rows, shape, common, price) == sorted(int(shape.top[k]) for k in best)


@pytest.mark.parametrize("hidden", [0.0, 0.1])
def test_as_many_groups_as_there_are_blobs(hidden):
    X, y = make_blobs(1500, 6, centers=50, center_box=(-20, 20), random_state=0)
    rows, tree = placed(hide_entries(X, hidden, random_state=0))
    nodes = best_cuts(tree, rows, tree.sizes >= 5, lambda labels: describe(rows, labels))
    labels = labels_of(tree, nodes, rows.places)
    assert abs(len(nodes) - 50) <= 2
    assert adjusted_rand_score(y, labels) > (0.97 if not hidden else 0.9)
