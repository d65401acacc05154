"""Each cluster described in words, from what tells it apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fusewise.support.words import counted, readable
from fusewise.views.findings.cluster_rules import ClusterRule
from fusewise.views.findings.contrasts import Contrast
from fusewise.views.findings.table_columns import TableColumn

if TYPE_CHECKING:
    from fusewise.views.findings.findings import Findings

#: Number of traits named, and the separation from which on a column is a trait.
MOST_TRAITS, LEAST_SEPARATION = 3, 0.25
#: Cliff's delta from which on values are higher or lower; below it they are in a narrower range.
LEAST_DELTA = 0.3
#: Difference in the share of missing values from which on it is a trait.
LEAST_MISSING = 0.25


@dataclass(frozen=True, eq=False)
class ClusterDescription:
    """A cluster in words.

    Attributes
    ----------
    cluster, size, share : its number, its number of rows, and their share of all rows.
    traits : what sets it apart, as phrases, the clearest first; empty if nothing does.
    short : the same for a narrow table: "alcohol ▲ 13.1".
    rule : a decision rule for it.
    """

    cluster: int
    size: int
    share: float
    traits: tuple[str, ...]
    short: tuple[str, ...]
    rule: ClusterRule

    @property
    def apart(self) -> str:
        """What sets it apart in one phrase."""
        return ", ".join(self.traits) or "nothing in particular: no column differs clearly from the other rows"

    @property
    def sentence(self) -> str:
        """The whole description: "62 rows (35%). Higher alcohol (median 13.1 against 12.3 elsewhere)."."""
        return f"{counted(self.size, 'row')} ({self.share:.0%}). {self.apart[0].upper()}{self.apart[1:]}."

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "cluster": self.cluster,
            "size": self.size,
            "share": self.share,
            "traits": list(self.traits),
            "short": list(self.short),
            "sentence": self.sentence,
        }


def describe_clusters(found: Findings) -> tuple[ClusterDescription, ...]:
    """Describe each cluster."""
    if found.n_clusters == 1 and (found.labels >= 0).sum() >= len(found.labels) - len(found.blank):
        rule = found.rules[0]
        share = int(found.sizes[0]) / len(found.labels)
        return (ClusterDescription(0, int(found.sizes[0]), share, ("every row: there is only one cluster",), (), rule),)
    described = []
    for k, contrasts in enumerate(found.contrasts.clusters):
        clear = [contrast for contrast in contrasts if contrast.differs and contrast.separation >= LEAST_SEPARATION]
        said = [_trait(contrast, found.columns[contrast.column]) for contrast in clear[:MOST_TRAITS]]
        said += [_missing(contrast) for contrast in contrasts if _often_missing(contrast)][: MOST_TRAITS - len(said)]
        traits, short = zip(*said, strict=True) if said else ((), ())
        share = int(found.sizes[k]) / max(len(found.labels), 1)
        described.append(ClusterDescription(k, int(found.sizes[k]), share, traits, short, found.rules[k]))
    return tuple(described)


def _trait(contrast: Contrast, column: TableColumn) -> tuple[str, str]:
    """A difference in words, at length and in short."""
    effect, inside, outside, name = contrast.effect, contrast.inside, contrast.outside, contrast.name
    assert effect is not None
    if contrast.level is not None:
        p, q = effect.parts
        often = "more" if p > q else "less"
        return (
            f"{often} often {name} = {contrast.level} ({p:.0%} against {q:.0%} elsewhere)",
            f"{name} = {contrast.level} {'▲' if p > q else '▼'} {p:.0%}",
        )
    if abs(effect.value) >= LEAST_DELTA:
        way = "higher" if effect.value > 0 else "lower"
        here, there = value_word(column, inside.median), value_word(column, outside.median)
        return (
            f"{way} {name} (median {here} against {there} elsewhere)",
            f"{name} {'▲' if effect.value > 0 else '▼'} {here}",
        )
    low, high = value_word(column, inside.low), value_word(column, inside.high)
    shares = f"{inside.within:.0%} against {outside.within:.0%} elsewhere"
    if low == high:
        return f"more often {name} = {low} ({shares})", f"{name} = {low}"
    return f"more often {name} from {low} to {high} ({shares})", f"{name} {low} to {high}"


def _often_missing(contrast: Contrast) -> bool:
    effect = contrast.missing
    return effect is not None and abs(effect.value) >= LEAST_MISSING and (effect.low > 0 or effect.high < 0)


def _missing(contrast: Contrast) -> tuple[str, str]:
    p, q = contrast.inside.missing, contrast.outside.missing
    often = "more" if p > q else "less"
    long = f"{often} often missing {contrast.name} ({p:.0%} against {q:.0%} elsewhere)"
    return long, f"{contrast.name} missing {'▲' if p > q else '▼'} {p:.0%}"


def value_word(column: TableColumn, value: float) -> str:
    """A value of a column as text: a number, or for ordered levels the level at the position."""
    if column.levels and np.isfinite(value):
        return str(column.levels[int(np.floor(value))])
    return readable(value)
