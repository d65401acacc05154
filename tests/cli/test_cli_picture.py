"""The picture in the terminal: points where they belong, in colour or without."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from fusewise import FusionClustering
from fusewise.cli._terminal import HEIGHT, in_colour, picture, rasterize
from fusewise.views import read_findings


def test_every_point_has_its_dot_and_every_cell_its_commonest_cluster():
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(400, 2)), rng.integers(-1, 3, size=400)
    dots, clusters = rasterize(points, labels, 12, 6)
    low, size = points.min(axis=0), np.ptp(points, axis=0)
    cells = {}
    for (x, y), label in zip((points - low) / size, labels, strict=True):
        dot = min(int(x * 24), 23), min(int((1 - y) * 24), 23)
        cells.setdefault((dot[1] // 4, dot[0] // 2), []).append((dot, label))
    for (row, column), inside in cells.items():
        assert int(dots[row, column]).bit_count() == len({dot for dot, _ in inside})
        counts = [sum(label == k for _, label in inside) for k in (-1, 0, 1, 2)]
        assert counts[clusters[row, column] + 1] == max(counts)
    assert np.count_nonzero(dots) == len(cells)


@pytest.mark.parametrize("points", [np.zeros((3, 2)), np.array([[0.0, 5.0], [1.0, 5.0]]), np.ones((1, 2))])
def test_points_on_a_line_or_on_one_place(points):
    assert np.count_nonzero(rasterize(points, np.zeros(len(points), int), 9, 5)[0]) in (1, 2)


@pytest.fixture
def found(numbers):
    return read_findings(FusionClustering().fit(numbers[0]))


def drawn(found, **options):
    file = io.StringIO()
    console = Console(file=file, width=50, **options)
    for line in picture(found, console):
        console.print(line)
    return console, file.getvalue()


def test_without_colour_every_cluster_has_a_digit(found):
    console, text = drawn(found)
    assert not in_colour(console)
    assert "\x1b" not in text
    lines = text.splitlines()[:HEIGHT]
    body = "".join(lines)
    assert set("012") <= set(body) <= set("012. ")
    assert sum(map(body.count, "012.")) <= len(found.points)
    assert max(map(len, lines)) <= 46


def test_in_colour_every_cluster_has_its_own(found):
    console, text = drawn(found, force_terminal=True, color_system="truecolor", no_color=False)
    assert in_colour(console)
    dots = sum(ord(c) - 0x2800 > 0 for c in text if 0x2800 <= ord(c) < 0x2900)
    assert 3 <= dots <= len(found.points)
    for red, green, blue in [(0x00, 0x72, 0xB2), (0xE6, 0x9F, 0x00), (0x00, 0x9E, 0x73)]:
        assert f"38;2;{red};{green};{blue}" in text


def test_no_color_and_poor_terminals_are_respected(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert not in_colour(Console(file=io.StringIO(), force_terminal=True, color_system="truecolor"))
    monkeypatch.delenv("NO_COLOR")
    poor = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    assert not in_colour(Console(file=poor, force_terminal=True, color_system="standard"))
