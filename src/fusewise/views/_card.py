"""Notebook display of a fitted model: a small map, the clusters and how sure they are, as plain HTML and SVG."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as Tree

import numpy as np

from fusewise.support import counted
from fusewise.views._findings import Findings, read_findings
from fusewise.views._palette import colour
from fusewise.views._sentences import clusters, headline, number_sentence, stability_sentence

#: Maximum number of rows on the map and of clusters in the table; size of the map in pixels.
MOST_ROWS, MOST_CLUSTERS = 400, 12
WIDTH, HEIGHT, MARGIN = 260, 190, 8


def card(model: Any) -> str:
    """HTML of the result for a notebook. Built as a tree of elements, so that names cannot inject HTML."""
    return card_of(read_findings(model, most_drawn=MOST_ROWS))


def card_of(whole: Findings) -> str:
    """The same HTML of findings that were read before."""
    found = whole.thinned(MOST_ROWS)
    box = Tree.Element("div", style="margin-top: .6em; color: inherit; font-family: system-ui, sans-serif")
    Tree.SubElement(box, "p", style="margin: .3em 0").text = headline(found)
    row = Tree.SubElement(box, "div", style="display: flex; flex-wrap: wrap; gap: 1.2em; align-items: flex-start")
    if len(found.drawn):
        row.append(_map(found))
    beside = Tree.SubElement(row, "div", style="flex: 1 1 20em; min-width: 0; overflow-x: auto")
    beside.append(_table(found))
    for sentence in _sentences(found):
        Tree.SubElement(box, "p", style="margin: .3em 0").text = sentence
    return Tree.tostring(box, encoding="unicode", method="html")


def _sentences(found: Findings) -> list[str]:
    """What the summary of the command says below its map: known classes, number of clusters, stability, notes."""
    judged = found.stability
    said = [] if found.known is None else [f"Known classes: {found.known.sentence}."]
    said += [number_sentence(found), *([] if judged is None else [stability_sentence(judged)])]
    return said + list(getattr(found.model, "limits_", ()))


def _map(found: Findings) -> Tree.Element:
    """SVG map of the rows, connected to their centres."""
    ends = found.plane.project(found.fused)
    points = np.concatenate([found.points, ends])
    inside = np.tile(found.labels[found.drawn] >= 0, 2)
    held = points[inside] if inside.any() else points
    low, high = held.min(axis=0), held.max(axis=0)
    zoom = min((np.array([WIDTH, HEIGHT]) - 2 * MARGIN) / np.maximum(high - low, 1e-12))
    flip = np.array([1.0, -1.0])
    placed = (points - (low + high) / 2) * zoom * flip + np.array([WIDTH, HEIGHT]) / 2
    picture = Tree.Element("svg", width=str(WIDTH), height=str(HEIGHT), viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img")
    picture.set("aria-label", "Map of the rows in two principal components, connected to the centres of their clusters")
    labels = found.labels[found.drawn]
    for (x, y), (to_x, to_y), label in zip(placed[: len(labels)], placed[len(labels) :], labels, strict=True):
        fill, place = colour(int(label)), {"cx": f"{x:.1f}", "cy": f"{y:.1f}"}
        line = {"x1": place["cx"], "y1": place["cy"], "x2": f"{to_x:.1f}", "y2": f"{to_y:.1f}"}
        Tree.SubElement(picture, "line", line, stroke=fill, opacity="0.35")
        Tree.SubElement(picture, "circle", place, r="2.2", fill=fill)
    return picture


def _table(found: Findings) -> Tree.Element:
    table = Tree.Element("table")
    head = Tree.SubElement(Tree.SubElement(table, "thead"), "tr")
    for title in ("cluster", "rows", "what sets it apart"):
        Tree.SubElement(head, "th", scope="col", style="text-align: left").text = title
    body = Tree.SubElement(table, "tbody")
    lines = clusters(found)
    for line in lines[:MOST_CLUSTERS]:
        row = Tree.SubElement(body, "tr")
        number = Tree.SubElement(row, "td")
        dot = f"display: inline-block; width: .7em; height: .7em; border-radius: 50%; background: {line['colour']}"
        Tree.SubElement(number, "span", style=dot).tail = f" {line['number']}"
        Tree.SubElement(row, "td").text = f"{line['size']:,}"
        Tree.SubElement(row, "td", style="text-align: left").text = line["apart"]
    if len(lines) > MOST_CLUSTERS:
        row = Tree.SubElement(body, "tr")
        Tree.SubElement(row, "td", colspan="3").text = f"and {counted(len(lines) - MOST_CLUSTERS, 'smaller cluster')}"
    return table
