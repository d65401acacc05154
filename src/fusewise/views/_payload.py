"""The data of the pictures and of the files that the page offers, as base64 in JSON."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.automatic import Alternative
from fusewise.kernels import Index, Labels, Real
from fusewise.support import finite_json
from fusewise.tables import numbers_like
from fusewise.views._colours import COLOURS, OUTLIER, SYMBOLS
from fusewise.views._columns import TableColumn
from fusewise.views._contrasts import LEAST_VALUES, Contrast
from fusewise.views._findings import Findings
from fusewise.views._layouts import neighbour_layout
from fusewise.views._profile import Missingness, ObservedCenters
from fusewise.views._rules import sql_script
from fusewise.views._sentences import value_words
from fusewise.views._trees import RowTree, row_tree


def packed(array: npt.ArrayLike, kind: str) -> dict[str, Any]:
    """Encode an array as {kind, shape, bytes}; kind is f4, f8, u1, i2 or i4, the types of arrays in browsers."""
    data = np.ascontiguousarray(array, dtype=f"<{kind}")
    return {"kind": kind, "shape": list(data.shape), "bytes": base64.b64encode(data.tobytes()).decode("ascii")}


def packed_numbers(array: Real) -> dict[str, Any]:
    """Encode numbers in the fewest bytes that hold seven significant digits of each, and all digits of whole ones."""
    finite = array[np.isfinite(array)]
    whole = bool((finite == np.rint(finite)).all()) and len(finite) == len(array)
    if whole and bool((np.abs(finite) < 2**31).all()):
        return packed_whole(array.astype(np.int64))
    size = np.abs(finite[finite != 0])
    single = np.finfo(np.float32)
    fits = bool(((size <= single.max) & (size >= single.tiny)).all())
    exact = finite[finite == np.rint(finite)]  # a large whole number may be a code, and must not change
    return packed(array, "f4" if fits and bool((np.abs(exact) < 2**24).all()) else "f8")


def packed_whole(array: npt.NDArray[np.integer[Any]]) -> dict[str, Any]:
    """Encode integers in the fewest bytes."""
    low, high = array.min(initial=0), array.max(initial=0)
    kind = "u1" if low >= 0 and high < 2**8 else "i2" if low >= -(2**15) and high < 2**15 else "i4"
    return packed(array, kind)


def to_json(data: Any) -> str:
    """JSON that is safe inside a <script>: "<" is escaped, and numbers that are not finite become null."""
    return finite_json(data, separators=(",", ":")).replace("<", "\\u003c")


def completed_cells(column: TableColumn, expected: Real, rows: Any) -> Real:
    """Values of some rows, or positions of levels; missing ones are those expected of the column's features."""
    cells: Real = column.values[rows].copy()
    gaps = np.isnan(cells)
    if not gaps.any():
        return cells
    block = expected[gaps]
    if column.kind == "number":
        cells[gaps] = numbers_like(column.values, block[:, 0])
        if column.half is not None:  # what is known of an entry may be beyond the range of the others
            known, low, high = (of[rows][gaps] for of in (column.bounded, column.half.lower, column.half.upper))
            least = np.maximum(low, np.minimum(high, 0 if column.ends[0] >= 0 else -np.inf))
            cells[gaps] = np.where(known, np.clip(block[:, 0], least, high), cells[gaps])
    elif column.kind == "ordered" and block.shape[1] == 1:
        cells[gaps] = np.rint(block[:, 0]).clip(0, len(column.levels) - 1)
    else:
        cells[gaps] = block.argmax(axis=1) if block.shape[1] > 1 else block[:, 0] > 0.5
    return cells


def partitions_of(found: Findings) -> list[Findings]:
    """The result, then its alternatives by their number of clusters."""
    return [found, *(_with(found, other) for other in sorted(found.alternatives, key=lambda other: other.n_clusters))]


def _with(found: Findings, other: Alternative) -> Findings:
    """The same rows in other clusters; their centres are the means of the observed values, of all rows if none is."""
    means = ObservedCenters.of(found.values, other.labels, other.n_clusters).means
    whole = np.nan_to_num(ObservedCenters.of(found.values, np.zeros(len(found.values), np.intp), 1).means)
    centers = np.where(np.isnan(means), whole, means)
    labels = other.labels[found.drawn]
    fused = np.where(labels[:, None] >= 0, centers[labels], found.completed)
    return replace(found, labels=other.labels, centers=centers, fused=fused, confidence=None)


#: Maximum number of table entries stored in the page.
MOST_ENTRIES = 1_000_000
#: Fraction of clustered rows outside the first view of the map on each side, and the relative margin around it.
LEFT_OUT, MARGIN = 0.002, 0.06
#: The first view reaches beyond the middle 96% of the clustered rows by at most this multiple of their range.
MOST_BEYOND = 2.0
#: Deviations in a heat map are drawn up to this many standard deviations.
MOST_DEVIATION = 3.0


def payload(partitions: list[Findings], curve: Sequence[tuple[float, float]], file: str) -> dict[str, Any]:
    """All data used by the scripts of the page; `curve` is that of the guarantee, `file` names the files it offers."""
    found = partitions[0]
    places = {"components": found.points}
    if len(found.drawn) > 2 and found.rows:
        places["neighbours"] = neighbour_layout(found.completed / found.unit, found.points)
    return {
        "file": file,
        "palette": {"colours": COLOURS, "symbols": SYMBOLS, "outlier": OUTLIER},
        "maps": _maps(found, places),
        "rows": _rows(found),
        "why": _why(found),
        "features": found.features if found.rows else (),
        "shares": found.shares.tolist(),
        "partitions": [_partition(partition, places, file) for partition in partitions],
        "table": _table(found, row_tree(found)) if found.rows else None,
        "trail": _trail(found) if found.rows else None,
        "curve": curve,
    }


def _maps(found: Findings, places: dict[str, Real]) -> list[dict[str, Any]]:
    labels = found.labels[found.drawn]
    axes = [
        f"{which} principal component ({share:.0%} of the variance)"
        for which, share in zip(("first", "second"), found.plane.shares, strict=True)
    ]
    note = "" if found.plane.units is None else "Principal components of columns made symmetric."
    words: dict[str, dict[str, Any]] = {
        "components": {"axes": axes, "lines": True, "ticks": True, "note": note},
        "neighbours": {
            "axes": ["", ""],
            "lines": False,
            "ticks": False,
            "note": "Similar rows are side by side; the axes have no unit, and distances between groups mean little.",
        },
    }
    ends, inside = found.plane.project(found.fused), labels >= 0
    own = not np.allclose(ends[inside], found.plane.project(found.centers)[labels[inside]])
    maps = []
    for key, points in places.items():
        shown = points if found.rows else points[:0]
        columns = {"x": packed(shown[:, 0], "f4"), "y": packed(shown[:, 1], "f4")}
        if key == "components" and own and found.rows:  # by the paper's algorithm each row has its own centre
            columns |= {"endX": packed(ends[:, 0], "f4"), "endY": packed(ends[:, 1], "f4")}
        maps.append({"key": key, "frame": _frame(points, labels, _hubs(found, key, points))} | words[key] | columns)
    return maps


def _hubs(found: Findings, key: str, points: Real) -> Real:
    """Where the centre of each cluster is drawn; in a layout without axes at the median of its rows."""
    if key == "components":
        return found.plane.project(found.centers)
    labels = found.labels[found.drawn]
    hubs = np.zeros((found.n_clusters, 2))
    for k in np.unique(labels[labels >= 0]):
        hubs[k] = np.median(points[labels == k], axis=0)
    return hubs


def _frame(points: Real, labels: Labels, hubs: Real) -> list[list[float]]:
    """The [x, y] ranges of the first view, set by the clustered rows so that a distant outlier has no effect."""
    rows = points[labels >= 0] if (labels >= 0).any() else points
    first, low, high, last = np.quantile(rows, [LEFT_OUT, 0.02, 0.98, 1 - LEFT_OUT], axis=0)
    beyond = MOST_BEYOND * (high - low)
    far = (rows < low - beyond) | (rows > high + beyond)
    inner = np.where(far, np.nan, rows)
    held = np.vstack([np.fmax(first, np.nanmin(inner, axis=0)), np.fmin(last, np.nanmax(inner, axis=0)), hubs])
    low, high = held.min(axis=0), held.max(axis=0)
    room = np.maximum(high - low, 1e-9 + 0.1 * (high - low).max()) * MARGIN
    return np.stack([low - room, high + room], axis=1).tolist()  # type: ignore[no-any-return]


def _columns_shown(found: Findings) -> list[int]:
    """The columns of which the page has the cells."""
    order = [column.position for column in found.contrasts.columns]
    return sorted(order[: max(1, MOST_ENTRIES // max(len(found.drawn), 1))])


def _rows(found: Findings) -> dict[str, Any]:
    """Names and cells of the drawn rows; of wide tables only the columns that separate the clusters best."""
    if not found.rows:
        empty = {"names": [], "columns": [], "observed": packed([], "u1"), "telling": [], "hidden": 0}
        return empty | {"confidence": None}
    order, kept = [column.position for column in found.contrasts.columns], _columns_shown(found)
    columns, expected = [found.columns[j] for j in kept], found.shown(found.completed)
    place = {position: j for j, position in enumerate(kept)}
    return {
        "names": [found.names[i] for i in found.drawn],
        "columns": [packed_column(column, expected[:, slice(*column.features)], found.drawn) for column in columns],
        "observed": packed(np.packbits(np.column_stack([column.seen[found.drawn] for column in columns])), "u1"),
        "telling": [place[position] for position in order if position in place],
        "hidden": len(order) - len(kept),
        "confidence": None if found.confidence is None else packed(found.confidence[found.drawn], "f4"),
    }


def _why(found: Findings) -> dict[str, Any] | None:
    """What each entry of a row adds to its cluster against the runner-up, of the rows that are explained."""
    if found.explained is None:
        return None
    rows, explained = found.explained
    nats = np.full((len(rows), len(found.columns)), np.nan)
    for line, each in zip(nats, explained, strict=True):
        line[list(each.positions)] = each.nats
    return {
        "rows": packed_whole(rows),
        "clusters": packed_whole(np.array([(each.cluster, each.runner_up) for each in explained])),
        "outliers": [each.outlier for each in explained],
        "odds": packed([each.log_odds for each in explained], "f4"),
        "sizes": packed([each.by_size for each in explained], "f4"),
        "nats": packed(nats[:, _columns_shown(found)], "f4"),
    }


def packed_column(column: TableColumn, expected: Real, rows: Index) -> dict[str, Any]:
    """A column of the drawn rows; `expected` is what the model expects of its features, in the user's units."""
    cells = completed_cells(column, expected, rows)
    if column.levels:
        return {"name": column.name, "levels": list(map(str, column.levels)), "values": packed_whole(cells.astype(int))}
    half = {} if column.half is None else {name: packed(of[rows], "f8") for name, of in vars(column.half).items()}
    return {"name": column.name, "values": packed_numbers(cells), **half}


def _partition(found: Findings, places: dict[str, Real], file: str) -> dict[str, Any]:
    observed = found.observed
    few = found.sizes < (0 if found.rows else LEAST_VALUES)  # the centre of a few rows is nearly a row
    hubs = {key: _hubs(found, key, points).round(6).tolist() for key, points in places.items()}
    centers = {"centers": found.centers, "means": observed.means, "medians": observed.medians} if found.rows else {}
    return {
        "labels": packed_whole(found.labels[found.drawn if found.rows else []]),
        "sizes": found.sizes.tolist(),
        "names": [described.name for described in found.described],
        "outliers": found.n_outliers,
        "hubs": {key: [None if few[k] else hub for k, hub in enumerate(of)] for key, of in hubs.items()},
        **{name: packed_numbers(found.shown(of).ravel()) for name, of in centers.items()},
        "profile": _profile(found),
        "missing": _missing(found.missingness) if found.rows else None,
        "contrasts": _contrasts(found),
        "rules": [{"words": str(rule), "precision": rule.precision, "recall": rule.recall} for rule in found.rules],
        "rulesSql": sql_script(found.rules, file),
    }


def _contrasts(found: Findings) -> dict[str, Any]:
    """Counts inside each cluster and in the other rows; without rows only where both sides have values enough."""
    contrasts = found.contrasts
    place = {column.position: j for j, column in enumerate(contrasts.columns)}
    compared = {contrast.column for of in contrasts.clusters for contrast in of}
    columns = [
        {
            "name": about.name,
            "whole": found.columns[about.position].whole,
            "edges": about.bins.edges,
            "soft": about.bins.soft,
            "levels": about.bins.levels,
        }
        for about in contrasts.columns
        if about.position in compared
    ]
    kept = [[c for c in of if found.rows or c.effect is not None] for of in contrasts.clusters]
    clusters = [[_contrast(c, place[c.column], found.columns[c.column]) for c in of] for of in kept]
    return {"columns": columns, "clusters": clusters}


def _contrast(contrast: Contrast, place: int, column: TableColumn) -> dict[str, Any]:
    inside, outside = contrast.inside, contrast.outside
    return {
        "column": place,
        "compared": contrast.effect is not None,
        "inside": inside.counts,
        "outside": outside.counts,
        "n": [inside.n, outside.n],
        "missing": [round(inside.missing, 4), round(outside.missing, 4)],
        "median": _short(inside.median),
        "medians": value_words(column, inside.median, outside.median) if column.kind == "number" else None,
    }


def _trail(found: Findings) -> dict[str, Any]:
    """The steps of the path."""
    trail = found.trail
    steps = [
        {
            "clusters": step.n_clusters,
            "groups": step.n_groups,
            "lam": step.lam,
            "criterion": step.criterion,
            "labels": packed_whole(step.labels),
            "centers": None if step.centers is None else packed(step.centers, "f4"),
        }
        for step in trail.steps
    ]
    return {"steps": steps, "rows": packed_whole(trail.rows), "chosen": trail.chosen}


def _table(found: Findings, table: RowTree) -> dict[str, Any]:
    """The heat map: cells from 1 (-3 standard deviations) to 255 (+3), 0 if missing."""
    scaled = 128 + 127 * np.clip(table.deviations / MOST_DEVIATION, -1, 1)
    return {
        "rows": packed_whole(table.rows),
        "lines": packed_whole(table.lines),
        "features": table.features,
        "cells": packed(np.where(np.isnan(scaled), 0, np.rint(scaled)), "u1"),
        "joins": packed(np.array(table.joins).reshape(-1, 8), "f8"),
        "named": table.is_named,
    }


def _profile(found: Findings) -> dict[str, Any]:
    profile = found.profile
    means = ObservedCenters.of(profile.values, found.labels, found.n_clusters).means
    ordered = {column.name for column in found.columns if column.kind == "ordered"}
    means[:, [name in ordered for name in profile.names]] = np.nan  # of positions there is no mean to show
    if not found.rows:
        means[found.sizes < LEAST_VALUES] = np.nan
    return {
        "features": profile.names,
        "effects": profile.effects.round(3).tolist(),
        "means": [[_short(value) for value in of] for of in means],
        "telling": profile.telling.round(4).tolist(),
    }


def _short(value: float) -> float:
    """A number to four significant digits: as it is shown, and no row's own."""
    return float(f"{value:.4g}")


def _missing(missing: Missingness) -> dict[str, Any]:
    blocks = zip(missing.columns[:-1], missing.columns[1:], strict=True)
    known = missing.names
    names = [known[a] if b == a + 1 else f"{known[a]} to {known[b - 1]}" for a, b in blocks]
    return {
        "bands": packed(np.rint(255 * missing.bands), "u1"),
        "cluster": missing.cluster.tolist(),
        "rows": missing.rows.tolist(),
        "columns": names,
    }
