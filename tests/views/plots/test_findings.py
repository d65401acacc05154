"""A model as plain arrays: every number against another way to it."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.stats import chi2_contingency
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering, FusionImputer
from fusewise.automatic._tree import MergeTree
from fusewise.views import read_findings
from fusewise.views._contrasts import holm
from fusewise.views._layouts import fit_plane
from fusewise.views._profile import compare_missingness
from fusewise.views._trees import _cuts_below


@pytest.mark.parametrize("rows", [np.ones((4, 3)), np.arange(5.0)[:, None], np.ones((1, 2))])
def test_plane_of_next_to_nothing(rows):
    points = fit_plane(rows, np.ones(rows.shape[1])).project(rows)
    assert points.shape == (len(rows), 2)
    assert np.isfinite(points).all()
    assert not points[:, 1].any()


def test_completed_as_the_imputer_does(model, table):
    found = read_findings(model)
    np.testing.assert_allclose(found.completed, FusionImputer().fit_transform(table))


def test_sample_holds_every_cluster(model):
    found = read_findings(model, most_drawn=30)
    kept = found.labels[found.drawn]
    assert set(kept) == set(model.labels_)
    assert 30 <= len(found.drawn) <= 75  # a few of each cluster at least
    assert len(np.unique(found.drawn)) == len(found.drawn)


def test_trail_of_the_tree(model):
    found = read_findings(model)
    steps, choice = found.trail.steps, model.path_
    assert steps[found.trail.chosen].n_groups == steps[found.trail.chosen].n_clusters == model.n_clusters_
    assert steps[found.trail.chosen].criterion == max(choice.criteria)
    groups = [step.n_groups for step in steps]
    assert groups == sorted(groups, reverse=True)
    lams = [step.lam for step in steps]
    assert lams == sorted(lams)


def test_trail_of_the_path(plain):
    found = read_findings(plain)
    path, trail = plain.path_, found.trail
    assert len(trail.steps) == len(path)
    np.testing.assert_array_equal(trail.steps[trail.chosen].labels, plain.labels_)
    k = len(path) // 2
    np.testing.assert_allclose(trail.steps[k].centers, found.plane.project(path.centers(k)))
    # The point taken is the one whose partition lasts longest.
    assert trail.steps[trail.chosen].criterion == np.nanmax([step.criterion for step in trail.steps])


def test_steps_below_the_first_candidate_are_cuts_of_the_tree():
    """As SciPy cuts it; with the lowest version of SciPy, too, whose graphs know positions of 32 bits alone."""
    rng = np.random.default_rng(2)
    tree = linkage(rng.normal(size=(60, 2)), "average")
    cuts = _cuts_below(MergeTree(tree), tree[-2:, 2])
    assert len(cuts) > 3
    for labels, lam in cuts:
        assert adjusted_rand_score(fcluster(tree, lam, "distance"), labels) == 1


def test_holm_by_its_definition():
    rng = np.random.default_rng(3)
    p = rng.random(20) ** 3
    p[[4, 9]] = np.nan
    tested = np.sort(p[~np.isnan(p)])
    m = len(tested)
    for value, corrected in zip(p, holm(p), strict=True):
        expected = max(min(1.0, (m - i) * q) for i, q in enumerate(tested) if q <= value) if value == value else np.nan
        assert corrected == pytest.approx(expected, nan_ok=True)


def test_missingness_that_depends_on_the_cluster_is_found(table):
    first = FusionClustering().fit(table)
    X = table.copy()
    X[first.labels_ == 0, 1] = np.nan
    found = read_findings(FusionClustering().fit(X))
    missing = compare_missingness(found)
    assert list(missing.differing) == [1]
    inside = found.labels >= 0
    counts = [[np.sum(np.isnan(X[found.labels == k, j])) for k in range(found.n_clusters)] for j in range(X.shape[1])]
    sizes = np.bincount(found.labels[inside])
    expected = [chi2_contingency([row, sizes - row], correction=False).pvalue for row in counts]
    np.testing.assert_allclose(missing.p_values, holm(np.array(expected)))
    assert not len(compare_missingness(read_findings(first)).differing)


@pytest.mark.parametrize(("bands", "columns"), [(500, 200), (10, 4), (1, 1)])
def test_missingness_map(model, table, bands, columns):
    missing = compare_missingness(read_findings(model), bands, columns)
    assert missing.bands.shape == (len(missing.rows) - 1, len(missing.columns) - 1)
    assert len(missing.columns) - 1 == min(columns, 6)
    assert len(missing.rows) - 1 <= bands + model.n_clusters_  # a band never mixes clusters
    areas = np.diff(missing.rows)[:, None] * np.diff(missing.columns)
    assert (missing.bands * areas).sum() == pytest.approx(np.count_nonzero(~np.isnan(table)))
    for k in range(model.n_clusters_):  # the rows of a cluster are all in its bands
        inside = missing.cluster == k
        assert np.diff(missing.rows)[inside].sum() == np.count_nonzero(model.labels_ == k)
        observed = (missing.bands * areas)[inside].sum()
        assert observed == pytest.approx(np.count_nonzero(~np.isnan(table[model.labels_ == k])))
