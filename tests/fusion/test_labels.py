"""From fused centres to labels: the rule, and that its cut may be moved by a factor 2 either way."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform

from fusewise.datasets import hide_entries, load_wine_subset, make_clusters
from fusewise.fidelity import Box
from fusewise.fusion import fuse
from fusewise.fusion._merging import fusion_scale
from fusewise.pairs import real_view
from fusewise.penalties import H1, MCP, GemanMcClure, Lp


def cut(centers, distance):
    """Groups of centres chained together by steps of at most `distance`, as sets of rows."""
    near = squareform(pdist(real_view(centers))) <= distance
    _, members = connected_components(near)
    return as_sets(members)


def as_sets(labels):
    return {frozenset(np.flatnonzero(labels == k).tolist()) for k in set(labels.tolist())}


def scale_of(centers, penalty):
    """The library's cut: merges of a single linkage are the edges of a minimum spanning tree."""
    heights = minimum_spanning_tree(squareform(pdist(real_view(centers)))).data
    merged = len(centers) - 1 - len(heights)  # coincident centres leave no edge
    return fusion_scale(np.concatenate([np.zeros(merged), heights]), penalty)


def table(noise=0.1, hidden=0.3, **options):
    X, _, _ = make_clusters(3, 15, 50, noise=noise, random_state=0, **options)
    return hide_entries(X, hidden, random_state=0)


FUSED = {
    "h1": lambda: fuse(table(), lam=3.0, penalty=H1(0.5)),
    "h1, smaller lam": lambda: fuse(table(), lam=1.0, penalty=H1(0.5)),
    "geman-mcclure": lambda: fuse(table(), lam=0.3, penalty=GemanMcClure(0.3)),
    "mcp": lambda: fuse(table(), lam=1.0, penalty=MCP(1.5)),
    "lp": lambda: fuse(table(hidden=0.0), lam=0.3, penalty=Lp(0.1)),
    "box": lambda: fuse(table(0.4, distribution="uniform"), penalty=H1(0.5), fidelity=Box(0.4), tol=1e-4),
    "complex": lambda: fuse(table() * (1 + 1j), lam=3.0, penalty=H1(0.7)),
    "wine": lambda: fuse(
        hide_entries(load_wine_subset()[0], 0.3, random_state=0), lam=0.3, penalty=H1(0.153), min_overlap=4
    ),
}


@pytest.mark.parametrize("name", FUSED)
def test_the_cut_may_be_moved_by_a_factor_2(name):
    solution = FUSED[name]()
    assert 1 < solution.n_clusters < len(solution.labels) / 3, "the example must have fused"
    scale = scale_of(solution.centers, solution.penalty)
    groups = as_sets(solution.labels)
    for factor in (0.5, 1.0, 2.0):
        assert cut(solution.centers, factor * scale) == groups


def test_unfused_centres_stay_apart():
    X, _, _ = make_clusters(3, 10, 10, noise=0.3, random_state=0)
    X[1] = X[0]  # a point that is held by its data has not fused, however close another is
    assert fuse(X, lam=1e-6, penalty=H1(0.1)).n_clusters == 30


def test_one_dominant_jump_decides_whatever_sigma():
    """A gap of a factor above 4 that opens below sigma; sigma is not so large that all is one."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        within = 10 ** rng.uniform(-3, 3)
        between = within * 10 ** rng.uniform(np.log10(4.1), 4)
        heights = rng.permutation(np.append(within * rng.uniform(0.51, 1, 12), between * rng.uniform(1, 2, 2)))
        sigma = np.exp(rng.uniform(np.log(1.001 * within), np.log(3.9 * heights.max())))
        for penalty in (H1(sigma), GemanMcClure(sigma), Lp(0.5, smoothing=sigma / 100)):
            assert within <= fusion_scale(heights, penalty) < between
        # No cut lies beyond the reach, none within the resolution.
        assert fusion_scale(heights, H1(0.5 * within)) < 0.51 * within
        assert fusion_scale(heights, H1(100 * heights.max())) >= heights.max()
    # A wider gap beyond the reach does not join what is apart within it.
    assert 0.01 < fusion_scale(np.array([0.01, 0.89, 0.01, 99.09, 0.01]), H1(1.0)) < 0.89
