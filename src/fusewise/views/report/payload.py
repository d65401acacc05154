"""The data of the pictures as JSON; arrays are encoded as base64, which browsers decode quickly."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels.output import finite_json
from fusewise.kernels.types import Real
from fusewise.views.findings import Branches, Findings, Missingness, Profile, Step
from fusewise.views.palette import COLOURS, OUTLIER, SYMBOLS

#: Maximum number of table entries stored in the page, for the details of a row.
MOST_ENTRIES = 1_000_000
#: Fraction of clustered rows outside the first view of the map on each side, and the relative margin around it.
LEFT_OUT, MARGIN = 0.002, 0.15
#: Array types available in browsers.
KINDS: dict[str, np.dtype[Any]] = {
    "f4": np.dtype("<f4"),
    "f8": np.dtype("<f8"),
    "u1": np.dtype("u1"),
    "i2": np.dtype("<i2"),
    "i4": np.dtype("<i4"),
}


def packed(array: npt.ArrayLike, kind: str) -> dict[str, Any]:
    """Encode an array as {kind, shape, bytes}."""
    data = np.ascontiguousarray(array, dtype=KINDS[kind])
    return {"kind": kind, "shape": list(data.shape), "bytes": base64.b64encode(data.tobytes()).decode("ascii")}


def packed_entries(array: Real) -> dict[str, Any]:
    """Encode entries of the table in 4 bytes each, or in 8 if one is too large or too small for that."""
    size = np.abs(array[np.isfinite(array) & (array != 0)])
    single = np.finfo(np.float32)
    fits = bool(((size <= single.max) & (size >= single.tiny)).all())
    return packed(array, "f4" if fits else "f8")


def to_json(data: Any) -> str:
    """JSON that is safe inside a <script>: "<" is escaped, and numbers that are not finite become null."""
    return finite_json(data, separators=(",", ":")).replace("<", "\\u003c")


def payload(
    found: Findings,
    profile: Profile,
    missing: Missingness,
    branches: Branches | None,
    curve: tuple[tuple[float, float], ...],
) -> dict[str, Any]:
    """All data drawn by the scripts of the page."""
    return {
        "palette": {"colours": COLOURS, "symbols": SYMBOLS, "outlier": OUTLIER},
        "sizes": found.sizes.tolist(),
        "map": _map(found),
        "rows": _rows(found, profile),
        "trail": _trail(found),
        "tree": None if branches is None else _tree(branches),
        "profile": _profile(found, profile),
        "missing": _missing(missing),
        "curve": curve,
    }


def _map(found: Findings) -> dict[str, Any]:
    labels = found.labels[found.drawn]
    ends = found.plane.project(found.fused)
    # By default all rows of a cluster share its centre; in the plain algorithm each row has its own.
    hubs = found.plane.project(found.centers)
    return {
        "x": packed(found.points[:, 0], "f4"),
        "y": packed(found.points[:, 1], "f4"),
        "endX": packed(ends[:, 0], "f4"),
        "endY": packed(ends[:, 1], "f4"),
        "hubs": hubs.round(6).tolist(),
        "labels": packed(labels, "i4"),
        "frame": _frame(found.points, labels, hubs),
        "shares": found.plane.shares.tolist(),
    }


def _frame(points: npt.NDArray[Any], labels: npt.NDArray[np.intp], hubs: npt.NDArray[Any]) -> list[list[float]]:
    """The [x, y] ranges of the first view, set by the clustered rows so that a distant outlier has no effect."""
    rows = points[labels >= 0] if (labels >= 0).any() else points
    held = np.vstack([np.quantile(rows, [LEFT_OUT, 1 - LEFT_OUT], axis=0), hubs])
    low, high = held.min(axis=0), held.max(axis=0)
    room = np.maximum(high - low, 1e-9 + 0.1 * (high - low).max()) * MARGIN
    return np.stack([low - room, high + room], axis=1).tolist()  # type: ignore[no-any-return]


def _rows(found: Findings, profile: Profile) -> dict[str, Any]:
    """Names and entries of the drawn rows; for wide tables only the features that separate the clusters best."""
    n, p = len(found.drawn), found.values.shape[1]
    most = max(1, MOST_ENTRIES // max(n, 1))
    kept = np.arange(p) if p <= most else np.sort(np.argsort(-profile.telling, kind="stable")[:most])
    confidence = None if found.confidence is None else packed(found.confidence[found.drawn], "f4")
    return {
        "names": [found.names[i] for i in found.drawn],
        "features": [found.features[j] for j in kept],
        "hidden": p - len(kept),
        "telling": np.argsort(-profile.telling[kept], kind="stable").tolist(),
        "values": packed_entries(found.shown(found.values[found.drawn])[:, kept]),
        "centers": packed_entries(found.shown(found.centers)[:, kept]),
        "confidence": confidence,
    }


def _trail(found: Findings) -> dict[str, Any]:
    trail = found.trail
    return {
        "steps": [_step(step) for step in trail.steps],
        "rows": None if len(trail.rows) == len(found.drawn) else packed(trail.rows, "i4"),
        "chosen": trail.chosen,
    }


def _step(step: Step) -> dict[str, Any]:
    """A step: single rows need no centre, groups share one, and otherwise the place of every row is stored."""
    numbers: dict[str, Any] = {
        "clusters": step.n_clusters,
        "groups": step.n_groups,
        "lam": step.lam,
        "criterion": step.criterion,
    }
    if step.n_clusters == 0 and step.centers is not None:
        return numbers
    numbers["labels"] = packed(step.labels, _smallest_kind(step.labels))
    if step.centers is None:
        return numbers | {"places": packed(step.places, "f4")}
    return numbers | {"centers": packed(step.centers, "f4")}


def _smallest_kind(labels: npt.NDArray[np.intp]) -> str:
    """The smallest integer type that holds all labels."""
    low, high = labels.min(initial=0), labels.max(initial=0)
    return "u1" if low >= 0 and high < 2**8 else "i2" if high < 2**15 else "i4"


def _tree(branches: Branches) -> dict[str, Any]:
    joins = [
        {"left": j.left, "right": j.right, "lam": j.lam, "step": j.step, "clusters": j.clusters} for j in branches.joins
    ]
    return {"sizes": branches.sizes, "clusters": branches.clusters, "joins": joins}


def _profile(found: Findings, profile: Profile) -> dict[str, Any]:
    shown = profile.shown
    return {
        "features": [found.features[j] for j in shown],
        "deviations": profile.deviations[:, shown].round(4).tolist(),
        "centers": found.shown(found.centers)[:, shown].tolist(),
        "telling": profile.telling[shown].round(4).tolist(),
    }


def _missing(missing: Missingness) -> dict[str, Any]:
    blocks = zip(missing.columns[:-1], missing.columns[1:], strict=True)
    known = missing.names
    names = [known[a] if b == a + 1 else f"{known[a]} to {known[b - 1]}" for a, b in blocks]
    return {
        "bands": packed(missing.bands, "f4"),
        "cluster": missing.cluster.tolist(),
        "rows": missing.rows.tolist(),
        "columns": names,
    }
