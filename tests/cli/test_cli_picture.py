"""The picture in the terminal: points where they belong, in colour or without."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from fusewise import FusionClustering
from fusewise.cli._output import EMPTY, HEIGHT, picture, rasterize
from fusewise.views import read_findings


def test_every_cell_has_its_commonest_cluster():
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(400, 2)), rng.integers(-1, 3, size=400)
    clusters = rasterize(points, labels, 12, 6)
    low, size = points.min(axis=0), np.ptp(points, axis=0)
    cells = {}
    for (x, y), label in zip((points - low) / size, labels, strict=True):
        cells.setdefault((min(int((1 - y) * 6), 5), min(int(x * 12), 11)), []).append(label)
    for place, inside in cells.items():
        counts = [inside.count(k) for k in (-1, 0, 1, 2)]
        assert counts[clusters[place] + 1] == max(counts)
    assert np.count_nonzero(clusters != EMPTY) == len(cells)


@pytest.mark.parametrize("points", [np.zeros((3, 2)), np.array([[0.0, 5.0], [1.0, 5.0]]), np.ones((1, 2))])
def test_points_on_a_line_or_on_one_place(points):
    assert np.count_nonzero(rasterize(points, np.zeros(len(points), int), 9, 5) == 0) in (1, 2)


@pytest.mark.parametrize("coloured", [False, True])
def test_every_cluster_has_a_sign_and_a_colour(numbers, coloured):
    file = io.StringIO()
    terminal = {"force_terminal": True, "color_system": "truecolor", "no_color": False} if coloured else {}
    Console(file=file, width=50, **terminal).print(picture(read_findings(FusionClustering().fit(numbers[0])), 46))
    text = file.getvalue()
    for red, green, blue in [(0x00, 0x72, 0xB2), (0xE6, 0x9F, 0x00), (0x00, 0x9E, 0x73)]:
        assert (f"38;2;{red};{green};{blue}" in text) == coloured
    if not coloured:
        body = "".join(lines := text.splitlines()[:HEIGHT])
        assert set("012") <= set(body) <= set("012. ")
        assert max(map(len, lines)) <= 46
        assert "0 cluster 0: 12" in text
