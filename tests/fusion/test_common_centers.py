"""A cluster whose rows cannot share a centre under the constraint is named in a warning; any other is not."""

import warnings

import numpy as np
import pytest

from fusewise import fuse
from fusewise.exact import certify
from fusewise.fidelity import Box
from fusewise.penalties import H1


def two_groups(seed, gap, scatter, n=40, hidden=0.2):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(at, scatter, (n, 6)) for at in (0, gap)])
    X[rng.random(X.shape) < hidden] = np.nan
    return X


def warned(solve):
    """What `solve` returns, and its warnings of clusters without a common centre."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = solve()
    return found, [str(w.message) for w in caught if "no centre" in str(w.message)]


def test_two_groups_that_no_box_holds():
    """All 80 rows are one cluster, and no row of one half can share a centre with one of the other: 1,600 pairs."""
    X = two_groups(0, gap=0.2, scatter=0.02, hidden=0.0)
    found, said = warned(lambda: fuse(X, fidelity=Box(0.16), penalty=H1(0.5)))
    assert found.n_clusters == 1
    assert len(certify(X, found.labels, 0.16).violations) == 1600
    assert len(said) == 1
    assert "no centre is within the Box of every row of cluster 0 (80 rows)" in said[0]
    assert "decrease sigma of H1(sigma=0.5)" in said[0]
    assert "increase epsilon" in said[0]
    # What the message says helps: a smaller sigma tells them apart, and a wider box lets them fuse.
    for fidelity, penalty, n_clusters in ((Box(0.16), H1(0.05), 2), (Box(0.6), H1(0.5), 1)):
        found, said = warned(lambda: fuse(X, fidelity=fidelity, penalty=penalty))  # noqa: B023
        assert (found.n_clusters, said) == (n_clusters, [])
        assert certify(X, found.labels, fidelity.epsilon).feasible


@pytest.mark.parametrize("epsilon", [0.19, 0.2, 0.21, 0.3])
def test_decimals_that_fit_exactly_are_not_refused(epsilon):
    """0.3 - 0.1 is a little more than 0.2."""
    X = np.array([[0.1, 0.3], [0.3, np.nan], [0.2, 0.1]])
    found, said = warned(lambda: fuse(X, fidelity=Box(epsilon), penalty=H1(2.0)))
    assert found.n_clusters == 1
    assert bool(said) == (epsilon < 0.2)
