"""The Displays: what they draw, and where."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection, QuadMesh
from scipy.cluster.hierarchy import leaves_list
from sklearn.exceptions import NotFittedError

from fusewise import FusionClustering, PenalizedFusion
from fusewise.views import (
    ClusterMapDisplay,
    DendrogramDisplay,
    FusionMapDisplay,
    FusionPathDisplay,
    MissingnessDisplay,
    ProfileDisplay,
    read_findings,
)
from fusewise.views._colours import COLOURS, MARKERS, SYMBOLS, colour, shape
from fusewise.views._profile import compare_missingness, profile_of

DISPLAYS = [ClusterMapDisplay, FusionMapDisplay, FusionPathDisplay, MissingnessDisplay, ProfileDisplay]


def of_kind(ax, kind):
    return [artist for artist in ax.collections if isinstance(artist, kind)]


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("which", ["model", "plain"])
def test_display_contract(display, which, request):
    model = request.getfixturevalue(which)
    shown = display.from_estimator(model)
    assert shown.ax_.figure is shown.figure_
    figure, ax = plt.subplots()
    assert display.from_estimator(model, ax=ax).ax_ is ax
    again = shown.plot()
    assert again is shown
    assert again.ax_ is not ax
    figure.canvas.draw()
    with pytest.raises(NotFittedError):
        display.from_estimator(FusionClustering())


def test_map_joins_every_row_to_its_centre(model):
    found = read_findings(model)
    ax = FusionMapDisplay.from_estimator(model).ax_
    lines = np.concatenate([c.get_segments() for c in of_kind(ax, LineCollection)])
    inside = found.labels >= 0
    order = np.lexsort(lines[:, 0].T)
    expected = np.stack([found.points[inside], found.plane.project(found.fused[inside])], axis=1)
    np.testing.assert_allclose(lines[order], expected[np.lexsort(expected[:, 0].T)])
    assert sum(len(c.get_offsets()) for c in of_kind(ax, PathCollection)) == len(found.labels)


def test_path_marks_the_chosen_step(model):
    shown = FusionPathDisplay.from_estimator(model)
    star = next(line for line in shown.ax_.lines if line.get_marker() == "*")
    assert star.get_ydata()[0] == max(model.path_.criteria)
    assert shown.artists_["groups"][0].get_ydata()[int(star.get_xdata()[0])] == model.n_clusters_


def test_dendrogram_has_the_last_joins_of_the_tree(model):
    shown = DendrogramDisplay.from_estimator(model, most_leaves=8)
    tops = sorted(line[1, 1] for of in shown.artists_["joins"] for line in of.get_segments())
    np.testing.assert_allclose(tops, model.path_.tree.linkage[-7:, 2])
    below = [label.get_text() for label in shown.ax_.get_xticklabels()]
    assert sum(int(text.split()[0].replace(",", "")) if text.endswith(" rows") else 1 for text in below) == len(
        model.labels_
    )
    figure, ax = plt.subplots()
    assert DendrogramDisplay.from_estimator(model, ax=ax).figure_ is figure
    with pytest.raises(NotFittedError):
        DendrogramDisplay.from_estimator(FusionClustering())


def test_nothing_to_draw(table):
    model = PenalizedFusion(0.01).fit(table)
    with pytest.raises(ValueError, match="no path to draw"):
        FusionPathDisplay.from_estimator(model)
    with pytest.raises(ValueError, match="no tree to draw"):
        DendrogramDisplay.from_estimator(model)
    alone = PenalizedFusion(0.0, penalty="h1").fit(table)
    with pytest.raises(ValueError, match="no cluster to draw"):
        ProfileDisplay.from_estimator(alone)


def test_profile_cells(model):
    found = read_findings(model)
    ax = ProfileDisplay.from_estimator(model, feature_names=list("abcdef")).ax_
    profile = profile_of(found)
    np.testing.assert_array_equal(of_kind(ax, QuadMesh)[0].get_array(), profile.effects.T)
    names = [label.get_text().split()[0] for label in ax.get_yticklabels()]
    assert names == [dict(zip((f"x{j}" for j in range(6)), "abcdef", strict=True))[name] for name in profile.names]


def test_missingness_cells_and_stars(table):
    first = FusionClustering().fit(table)
    X = table.copy()
    X[first.labels_ == 0, 1] = np.nan
    model = FusionClustering().fit(X)
    ax = MissingnessDisplay.from_estimator(model, feature_names=["$a", "b_{", "c", "d", "e", "f"]).ax_
    mesh = of_kind(ax, QuadMesh)[0]
    np.testing.assert_array_equal(mesh.get_array(), compare_missingness(read_findings(model)).bands)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["$a", "b_{ *", "c", "d", "e", "f"]
    ax.figure.canvas.draw()  # names are no mathematics: a lone $ is fine


def test_cluster_map_holds_the_table_in_order(model, table):
    """Cells are the table's, standardised; a cluster is one block, and its rows are in the order of SciPy's leaves."""
    shown = ClusterMapDisplay.from_estimator(model)
    places = [[f"x{j}" for j in range(table.shape[1])].index(name) for name in shown.features]
    scaled = (table - np.nanmean(table, axis=0)) / np.nanstd(table, axis=0)
    drawn = np.ma.filled(shown.artists_["cells"][0].get_array(), np.nan)
    np.testing.assert_allclose(drawn, scaled[shown.rows][:, places])
    assert shown.artists_["cells"][0].get_array().mask.sum() == np.isnan(table[shown.rows]).sum()
    assert (shown.labels == model.labels_[shown.rows]).all()
    assert np.count_nonzero(np.diff(shown.labels)) == len(set(shown.labels)) - 1
    seen = np.flatnonzero(~np.isnan(table).all(axis=1))
    leaves = seen[model.path_.rows][leaves_list(model.path_.tree.linkage)]
    for k in range(model.n_clusters_):
        mine = shown.rows[shown.labels == k]
        expected = [row for row in leaves if model.labels_[row] == k]
        assert sum(a == b for a, b in zip(mine, expected, strict=True)) >= 0.9 * len(mine)


def test_clusters_look_different():
    """Colour and shape together name 56 clusters: two of one colour never have one shape."""
    looks = {(colour(k), shape(k)) for k in range(len(COLOURS) * len(MARKERS))}
    assert len(looks) == len(COLOURS) * len(MARKERS)
    assert len(MARKERS) == len(SYMBOLS)


def seen_by(colour_, matrix, tint=0.0):
    """A colour (linear RGB), mixed with white, as seen without one kind of cone, by a 3 x 3 matrix."""
    rgb = (1 - tint) * np.array([int(colour_[i : i + 2], 16) for i in (1, 3, 5)]) / 255 + tint
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.cbrt(np.clip(matrix @ linear, 0, 1))


@pytest.mark.parametrize(
    "matrix",
    [
        np.eye(3),
        # Machado, Oliveira and Fernandes (2009), severity 1: protanopia, tritanopia, deuteranopia.
        np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
        np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
        np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    ],
    ids=["all cones", "protanopia", "tritanopia", "deuteranopia"],
)
@pytest.mark.parametrize("tint", [0.0, 0.28], ids=["light", "dark"])  # on dark pages colours are lighter
def test_colours_can_be_told_apart(matrix, tint):
    seen = np.array([seen_by(c, matrix, tint) for c in COLOURS])
    gaps = np.linalg.norm(seen[:, None] - seen[None], axis=2)[np.triu_indices(len(COLOURS), 1)]
    assert gaps.min() > (0.06 if tint else 0.08)
