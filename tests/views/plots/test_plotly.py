"""Interactive figures: they hold what the matplotlib displays draw, and say it where one points."""

import numpy as np
import pytest

from fusewise.views import (
    ClusterMapDisplay,
    FusionMapDisplay,
)

pytest.importorskip("plotly")


def markers(figure):
    return [trace for trace in figure.data if trace.mode == "markers"]


def texts(cells):
    return np.array(cells.text, dtype=object)


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
