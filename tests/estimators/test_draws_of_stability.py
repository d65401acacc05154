"""Draws, hidden entries and the comparison of clusters."""

import numpy as np
import pytest
from scipy import sparse

from fusewise.automatic import Stability
from fusewise.estimators._stability import Refit, hide_more, row_draws, similarities, summarise
from fusewise.observations import as_entries, as_sparse_entries


def test_similarities_are_those_of_sets():
    rng = np.random.default_rng(0)
    before, after = rng.integers(-1, 3, 50), rng.integers(-1, 4, 50)
    sets = [[set(np.flatnonzero(labels == k)) for k in range(count)] for labels, count in ((before, 3), (after, 4))]
    by_hand = [[len(a & b) / len(a | b) for b in sets[1]] for a in sets[0]]
    np.testing.assert_allclose(similarities(before, after, 3), by_hand)


def test_the_summary_of_two_draws_by_hand():
    labels = np.array([0, 0, 0, 1, 1, -1])
    sure = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.0, 1.0]])
    drawn = [
        Refit(np.array([0, 1, 3, 5]), np.array([1, 1, 0, -1]), sure[[1, 1, 0, 2]]),  # other numbers, same clusters
        Refit(np.array([0, 2, 3, 4]), np.array([0, 1, 1, 1]), sure),  # row 2 has left its own
    ]
    found = summarise(labels, drawn, 0.0)
    # Second draw: {0, 2} against {0}: 1/2, against {2, 3, 4}: 1/4; {3, 4} against {2, 3, 4}: 2/3.
    np.testing.assert_allclose(found.clusters, [(1 + 1 / 2) / 2, (1 + 2 / 3) / 2])
    np.testing.assert_allclose(found.rows, [1, 1, 0, 1, 1, 1])
    np.testing.assert_allclose(found.confidence, [(0.8 + 0.9) / 2, 0.8, 0.2, (0.9 + 0.6) / 2, 1, 1])
    assert found.n_clusters == {2: 2}
    assert found.n_draws == 2


@pytest.mark.parametrize(("n", "size"), [(10, 5), (11, 5), (23, 4)])
def test_every_row_is_drawn_equally_often_within_one_round(n, size):
    draws = list(row_draws(n, size, 2 * (n // size), np.random.default_rng(0)))
    half = len(draws) // 2
    for some in (draws[:half], draws[half:]):
        together = np.concatenate(some)
        assert len(np.unique(together)) == len(together) == half * size  # no row twice
    assert all((np.diff(rows) > 0).all() for rows in draws)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_share_asked_for_is_hidden_and_no_row_is_emptied(kind):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((400, 12)) < 0.5, np.nan, rng.normal(size=(400, 12)))
    X[:, 0] = rng.normal(size=400)
    X[:50, 1:] = np.nan  # these have a single entry to lose
    table = as_entries(X)
    if kind == "sparse":
        where = np.nonzero(table.mask)
        table = as_sparse_entries(sparse.csr_matrix((X[where], where), shape=X.shape))
    hidden = hide_more(table, 0.3, (), np.random.default_rng(1)).dense()
    assert (hidden.row_counts > 0).all()
    assert not (hidden.mask & np.isnan(X)).any()
    np.testing.assert_array_equal(hidden.values[hidden.mask], X[hidden.mask])
    assert hidden.mask[50:].sum() / (~np.isnan(X[50:])).sum() == pytest.approx(0.7, abs=0.03)


def test_the_levels_of_a_category_are_hidden_together():
    X = np.hstack([np.random.default_rng(0).normal(size=(200, 1)), np.eye(3)[np.arange(200) % 3]])
    mask = hide_more(as_entries(X), 0.5, ((1, 4),), np.random.default_rng(0)).dense().mask
    assert (mask[:, 1:] == mask[:, 1:2]).all()
    assert 0 < mask[:, 1].sum() < 200


def test_the_result_is_readable():
    found = Stability(np.array([0.9, 0.5]), np.ones(4), np.ones(4), {2: 19, 1: 1}, 20, 0.1)
    assert repr(found).splitlines() == [
        "Stability over 20 draws (clusters found: 2 in 19, 1 in 1)",
        "  cluster 0: 0.90, highly stable",
        "  cluster 1: 0.50, not stable",
    ]
    assert "<td>0.90</td><td>highly stable</td>" in found._repr_html_()
