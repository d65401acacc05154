"""What the page says about each cluster and about the columns: words and lines of tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.support.words import readable
from fusewise.views.findings import Contrast, Findings, TableColumn
from fusewise.views.findings.descriptions import value_word
from fusewise.views.palette import SYMBOLS, colour, shape

#: Maximum number of columns in the table of a cluster, and in the table of important columns.
MOST_LINES, MOST_IMPORTANT = 20, 200


def sheets(found: Findings) -> list[dict[str, Any]]:
    """One sheet per cluster: its description, its rule, and how its columns differ from the other rows."""
    return [
        {
            "number": described.cluster,
            "colour": colour(described.cluster),
            "symbol": SYMBOLS[shape(described.cluster)],
            "sentence": described.sentence,
            "rule": str(rule) if rule.conditions else None,
            "precision": f"{rule.precision:.0%}",
            "recall": f"{rule.recall:.0%}",
            "sql": rule.as_sql("table"),
            "python": rule.python_function(),
            "lines": [_line(contrast, found.columns[contrast.column]) for contrast in of[:MOST_LINES]],
            "n_columns": len(of),
        }
        for described, rule, of in zip(found.described, found.rules, found.contrasts.clusters, strict=True)
    ]


def _line(contrast: Contrast, column: TableColumn) -> dict[str, Any]:
    """A column of a cluster against the other rows."""
    effect = contrast.effect
    inside, outside = contrast.inside, contrast.outside
    if column.scaled:
        medians = [value_word(column, inside.median), value_word(column, outside.median)]
        means = readable(inside.mean)
        center = readable(contrast.center[0]) if len(contrast.center) == 1 else "–"
    else:
        shares = _level_shares(contrast, column)
        medians = (
            [f"{contrast.level}: {shares[0]:.0%}", f"{shares[1]:.0%}"] if contrast.level is not None else ["–", "–"]
        )
        means, center = "–", f"{shares[2]:.0%}" if np.isfinite(shares[2]) else "–"
    return {
        "name": contrast.name,
        "inside": medians[0],
        "outside": medians[1],
        "mean": means,
        "center": center,
        "effect": "–" if effect is None else _signed(effect.value),
        "interval": "" if effect is None else f"{_signed(effect.low)} to {_signed(effect.high)}",
        "measure": "" if effect is None else effect.name,
        "differs": contrast.differs,
        "missing": [f"{inside.missing:.0%}", f"{outside.missing:.0%}"],
    }


def _level_shares(contrast: Contrast, column: TableColumn) -> tuple[float, float, float]:
    """Share of the level that differs most: inside, outside, and at the model's centre."""
    if contrast.effect is None:
        return np.nan, np.nan, np.nan
    place = list(map(str, column.levels)).index(str(contrast.level))
    center = contrast.center[place] if place < len(contrast.center) else np.nan
    return (*contrast.effect.parts, center)


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def important_columns(found: Findings) -> list[dict[str, Any]]:
    """Columns by how much they differ between the clusters."""
    return [
        {
            "name": about.name,
            "kind": about.kind,
            "share": about.importance,
            "p_value": None if np.isnan(about.p_value) else about.p_value,
            "says_nothing": about.says_nothing,
        }
        for about in found.contrasts.columns[:MOST_IMPORTANT]
    ]


def columns_read(found: Findings) -> list[dict[str, Any]]:
    """One line per column of the table: how it was read, or why it was left out."""
    return [column.as_dict() | {"missing": f"{column.missing:.0%}"} for column in found.origin.read.columns]
