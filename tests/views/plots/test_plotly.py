"""Interactive figures: they hold what the matplotlib displays draw, and say it where one points."""

import json

import numpy as np
import pytest

from fusewise.views import (
    ClusterMapDisplay,
    DendrogramDisplay,
    FusionMapDisplay,
    FusionPathDisplay,
    MissingnessDisplay,
    ProfileDisplay,
    read_findings,
)

go = pytest.importorskip("plotly.graph_objects")


def markers(figure):
    return [trace for trace in figure.data if trace.mode == "markers"]


def texts(cells):
    return np.array(cells.text, dtype=object)


@pytest.mark.parametrize("which", ["model", "plain"])
@pytest.mark.parametrize(
    "display",
    [ClusterMapDisplay, DendrogramDisplay, FusionMapDisplay, FusionPathDisplay, MissingnessDisplay, ProfileDisplay],
)
def test_every_display_has_a_figure(display, which, request):
    figure = display.from_estimator(request.getfixturevalue(which)).to_plotly()
    assert isinstance(figure, go.Figure)
    json.loads(figure.to_json())  # what a notebook is sent


def test_map_tells_the_row_under_the_pointer(model, table):
    """Every row once, where matplotlib draws it, with its name, cluster, confidence and values."""
    names = [f"<i>row</i> {i}" for i in range(len(table))]
    shown = FusionMapDisplay.from_estimator(model, names=names)
    seen = {}
    for trace in markers(shown.to_plotly()):
        for x, y, text in zip(trace.x, trace.y, trace.text, strict=True):
            name, where, *values = text.split("<br>")
            seen[int(name.split()[-1].removesuffix("</b>"))] = (x, y), where, values
    assert sorted(seen) == list(range(len(table)))
    for i, (place, where, values) in seen.items():
        np.testing.assert_allclose(place, shown.points[i])
        word = "outlier" if model.labels_[i] < 0 else f"cluster {model.labels_[i]}"
        assert where == f"{word}, confidence {model.confidence_[i]:.3f}"
        for value in values:
            column, told = value.split(": ")
            cell = table[i, int(column[1:])]
            if np.isnan(cell):
                assert told == "missing"
            else:
                assert float(told.replace("−", "-")) == pytest.approx(cell, rel=6e-3)  # three digits
    drawn = np.concatenate([artist.get_offsets() for artist in shown.artists_["rows"]])
    assert len(drawn) == len(seen)


def test_names_are_text(model, table):
    """A name with tags or mathematics is shown as it is."""
    names = ["<b>bold</b> & $x^2$"] + [str(i) for i in range(1, len(table))]
    figure = ClusterMapDisplay.from_estimator(model, names=names).to_plotly()
    told = " ".join(texts(figure.data[0]).ravel())
    assert "<b>&lt;b&gt;bold&lt;/b&gt; &amp; &#36;x^2&#36;</b>" in told
    assert "<b>bold" not in told


def test_heat_maps_hold_the_cells(model, table):
    shown = ClusterMapDisplay.from_estimator(model)
    (cells,) = shown.to_plotly().data
    values = np.array([[np.nan if v is None else v for v in row] for row in cells.z], dtype=float)
    np.testing.assert_allclose(values, np.ma.filled(shown.artists_["cells"][0].get_array(), np.nan))
    missing = np.char.endswith(texts(cells).astype(str), ": missing")
    np.testing.assert_array_equal(missing, np.isnan(values))
    assert missing.sum() == np.isnan(table).sum()
    shown = ProfileDisplay.from_estimator(model)
    np.testing.assert_allclose(
        np.array(shown.to_plotly().data[0].z, dtype=float), shown.artists_["cells"][0].get_array()
    )


def test_path_and_tree_name_their_steps(model):
    found = read_findings(model)
    figure = FusionPathDisplay.from_estimator(model).to_plotly()
    told = [text for trace in figure.data for text in trace.text]
    star = [text for text in told if text.endswith("the chosen step")]
    assert len(set(star)) == 1
    assert star[0].startswith(f"step {found.trail.chosen + 1}<br>{model.n_clusters_} groups<br>lam ")
    shown = DendrogramDisplay.from_estimator(model)
    figure = shown.to_plotly()
    joins = [trace for trace in figure.data if trace.mode == "lines"]
    assert len(joins) == len(shown.artists_["joins"]) == len(shown.branches.joins)
    for trace, lines in zip(joins, shown.artists_["joins"], strict=True):
        np.testing.assert_allclose(np.column_stack([trace.x, trace.y]), lines.get_segments()[0])
    assert len(markers(figure)) == len(shown.artists_["leaves"]) == len(shown.branches.sizes)
