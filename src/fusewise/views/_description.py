"""``model.describe()``: what makes the groups and how sure they are, as one object, as text and for notebooks."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as Tree

import numpy as np

from fusewise.support import PlainRecord, counted, visible
from fusewise.views._certainty import (
    MOST_DOUBTFUL,
    HowSure,
    KnownLabels,
    cluster_confidence,
    doubtful_row,
    doubtful_rows,
)
from fusewise.views._colours import colour
from fusewise.views._columns import ColumnsRead
from fusewise.views._contrasts import Contrasts
from fusewise.views._findings import Findings, read_findings
from fusewise.views._rules import ClusterRule
from fusewise.views._sentences import (
    ClusterDescription,
    advice,
    headline,
    limits,
    number_sentence,
    profile_sentences,
    stability_sentence,
)

#: Width of the text.
TEXT_WIDTH = 100
#: For notebooks: maximum number of rows on the map and of clusters in the table; size of the map in pixels.
MOST_ROWS, MOST_CLUSTERS = 400, 12
WIDTH, HEIGHT, MARGIN = 260, 190, 8


@dataclass(frozen=True, eq=False, repr=False)
class Description(PlainRecord):
    """What makes the clusters of a fitted model, and how sure they are; printed as text, in a notebook as HTML.

    Attributes
    ----------
    headline : the result in one sentence.
    columns : the columns of the table and how each was read (``ColumnsRead``).
    clusters : each cluster in words, with its rule (``ClusterDescription``).
    contrasts : each cluster compared with all other rows, column by column (``Contrasts``).
    rules : a decision rule for each cluster, with ``as_sql`` and ``as_python`` (``ClusterRule``).
    certainty : confidence of rows and clusters, other numbers of clusters, stability (``HowSure``).
    known : known classes beside the clusters; None if there are none (``KnownLabels``).
    """

    headline: str
    columns: ColumnsRead
    clusters: tuple[ClusterDescription, ...]
    contrasts: Contrasts
    rules: tuple[ClusterRule, ...]
    certainty: HowSure
    known: KnownLabels | None
    _findings: Findings

    @classmethod
    def of(cls, found: Findings, option: str = "n_clusters=") -> Description:
        """Describe a result; `option` is how the number of clusters is set."""
        parts = found.origin.read, found.described, found.contrasts, found.rules
        return cls(headline(found), *parts, how_sure(found, option), found.known, found)

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return card_of(self._findings)

    def lines(self) -> Iterator[str]:
        """The description as lines of text."""
        yield self.headline
        for cluster in self.clusters:
            yield ""
            name = f" ({cluster.name})" if cluster.name else ""
            yield from _wrapped(f"Cluster {cluster.cluster}{name}: {cluster.sentence}")
            if cluster.rule.conditions:
                yield from _wrapped(f"Rule: {cluster.rule.sentence}", "  ")
        yield ""
        for sentence in profile_sentences(self._findings):
            yield from _wrapped(sentence)
        if self.known is not None:
            yield from _wrapped(f"Known classes: {self.known.sentence}.")
        if getattr(self._findings.model, "matching_", None) is not None:
            yield from repr(self._findings.model.matching_).splitlines()
        sure = self.certainty
        for sentence in filter(None, (sure.number, *limits(self._findings), *sure.advice, sure.stability)):
            yield from _wrapped(sentence)
        if sure.n_doubtful:
            said = [(row, "outlier" if row.cluster < 0 else f"cluster {row.cluster}") for row in sure.doubtful[:5]]
            rows = [f"{row.name} ({where}, {row.confidence:.2f})" for row, where in said]
            yield from _wrapped(f"{sure.doubt} The least certain: {', '.join(rows)}.")

    def to_frame(self) -> Any:
        """The contrasts as a pandas DataFrame, one line for each cluster and column."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError('a data frame needs pandas: pip install "fusewise[frames]"') from error
        return pd.DataFrame([contrast.as_line() for of in self.contrasts.clusters for contrast in of])


def how_sure(found: Findings, option: str = "n_clusters=") -> HowSure:
    """Collect what is known of the certainty of a result; `option` as in ``number_sentence``."""
    rows = doubtful_rows(found)
    return HowSure(
        number_sentence(found, option),
        tuple(advice(found)),
        tuple(cluster_confidence(found, k) for k in range(found.n_clusters)),
        tuple(doubtful_row(found, int(row)) for row in rows[:MOST_DOUBTFUL]),
        len(rows),
        tuple(found.alternatives),
        None if found.stability is None else stability_sentence(found.stability),
    )


def description_text(found: Findings, notes: Sequence[str], option: str = "--n-clusters ") -> str:
    """The description as a text file, with the columns, what was left out and why, and the notes."""
    described = Description.of(found, option)
    lines = [*described.lines(), "", "Columns:"]
    for column in described.columns.columns:
        not_used = "left out: " if column.role == "left out" else ""
        lines += _wrapped(f"{column.name} ({column.kind}): {not_used}{column.why}", "  ")
    if notes:
        lines += ["", "Notes:"]
        for note in notes:
            lines += _wrapped(note, "  ")
    return "\n".join(lines) + "\n"


def _wrapped(text: str, indent: str = "") -> list[str]:
    """Text in lines of at most `TEXT_WIDTH` characters, those after the first further indented."""
    lines = textwrap.wrap(visible(text), TEXT_WIDTH, initial_indent=indent, subsequent_indent=indent + "  ")
    return lines or [indent.rstrip()]


def card(model: Any) -> str:
    """HTML of the result for a notebook."""
    return card_of(read_findings(model, most_drawn=MOST_ROWS))


def card_of(whole: Findings) -> str:
    """A small map, the clusters and how sure they are; built of elements, so that names cannot inject HTML."""
    found = whole.thinned(MOST_ROWS)
    box = Tree.Element("div", style="margin-top: .6em; color: inherit; font-family: system-ui, sans-serif")
    Tree.SubElement(box, "p", style="margin: .3em 0").text = headline(found)
    row = Tree.SubElement(box, "div", style="display: flex; flex-wrap: wrap; gap: 1.2em; align-items: flex-start")
    if len(found.drawn):
        row.append(_map(found))
    beside = Tree.SubElement(row, "div", style="flex: 1 1 20em; min-width: 0; overflow-x: auto")
    beside.append(_table(found))
    judged = found.stability
    said = [] if found.known is None else [f"Known classes: {found.known.sentence}."]
    said += [number_sentence(found), *([] if judged is None else [stability_sentence(judged)]), *limits(found)]
    for sentence in said:
        Tree.SubElement(box, "p", style="margin: .3em 0").text = sentence
    return Tree.tostring(box, encoding="unicode", method="html")


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
    for cluster in found.described[:MOST_CLUSTERS]:
        row = Tree.SubElement(body, "tr")
        look = f"border-radius: 50%; background: {colour(cluster.cluster)}"
        dot = f"display: inline-block; width: .7em; height: .7em; {look}"
        Tree.SubElement(Tree.SubElement(row, "td"), "span", style=dot).tail = f" {cluster.cluster}"
        Tree.SubElement(row, "td").text = f"{cluster.size:,}"
        Tree.SubElement(row, "td", style="text-align: left").text = cluster.apart
    if found.n_clusters > MOST_CLUSTERS:
        others = counted(found.n_clusters - MOST_CLUSTERS, "smaller cluster")
        Tree.SubElement(Tree.SubElement(body, "tr"), "td", colspan="3").text = f"and {others}"
    return table
