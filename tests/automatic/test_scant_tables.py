"""Tables in which rows have hardly anything in common: every loop over them ends."""

from __future__ import annotations

import numpy as np
import pytest

from fusewise import FusionClustering
from fusewise.automatic._tree import fusion_tree
from fusewise.observations import Quadratics
from fusewise.pairs import NeighborPairs

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(("n", "p"), [(40, 8), (410, 5)])
def test_one_entry_in_each_row(n, p):
    """The search never ended: a NaN in the merge tree, of which no join could be made."""
    rng = np.random.default_rng(1)
    X = np.full((n, p), np.nan)
    X[np.arange(n), rng.integers(p, size=n)] = rng.normal(size=n)
    model = FusionClustering(n_clusters=2).fit(X)
    assert np.isfinite(model.cluster_centers_).all()
    np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused_at_the_door_of_the_tree(bad):
    gram = np.repeat(np.eye(2)[None], 5, axis=0)
    target = np.arange(10.0).reshape(5, 2)
    target[3, 1] = bad
    first = np.arange(4)
    pairs = NeighborPairs(5, first, first + 1, np.ones(4))
    with pytest.raises(FloatingPointError, match="not finite"):
        fusion_tree(Quadratics(gram, target, np.zeros(5)), pairs)


def test_a_huge_complex_entry():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(30, 5)) + 1j * rng.normal(size=(30, 5))).astype(np.complex64)
    X[3, 2] = 1e38
    assert np.isfinite(FusionClustering().fit(X).cluster_centers_).all()
