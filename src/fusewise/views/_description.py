"""``model.describe()``: what makes the groups and how sure they are, as one object and as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fusewise.support import PlainRecord, visible
from fusewise.views._certainty import (
    MOST_DOUBTFUL,
    HowSure,
    KnownLabels,
    cluster_confidence,
    doubtful_row,
    doubtful_rows,
)
from fusewise.views._columns import ColumnRead
from fusewise.views._contrasts import Contrasts
from fusewise.views._findings import Findings
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


@dataclass(frozen=True, eq=False, repr=False)
class Description(PlainRecord):
    """What makes the clusters of a fitted model, and how sure they are; printed as text.

    Attributes
    ----------
    headline : the result in one sentence.
    columns : the columns of the table and how each was read (``ColumnRead``).
    clusters : each cluster in words, with its rule (``ClusterDescription``).
    contrasts : each cluster compared with all other rows, column by column (``Contrasts``).
    rules : a decision rule for each cluster, with ``as_sql`` (``ClusterRule``).
    certainty : confidence of rows and clusters, other numbers of clusters, stability (``HowSure``).
    known : known classes beside the clusters; None if there are none (``KnownLabels``).
    """

    headline: str
    columns: tuple[ColumnRead, ...]
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


def description_text(found: Findings, notes: Sequence[str]) -> str:
    """The description as a text file, with the columns, what was left out and why, and the notes."""
    described = Description.of(found, "--n-clusters ")
    lines = [*described.lines(), "", "Columns:"]
    for column in described.columns:
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
