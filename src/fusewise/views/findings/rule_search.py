"""The search for the rule of each cluster: conditions added one by one, as long as they improve it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING

import numpy as np

from fusewise.kernels import Index, Mask, Real
from fusewise.views.findings.cluster_rules import ClusterRule, Condition
from fusewise.views.findings.table_columns import TableColumn

if TYPE_CHECKING:
    from fusewise.views.findings.findings import Findings

#: Maximum number of conditions, and how many of the best rules are kept while conditions are added.
MOST_CONDITIONS, BEAM = 3, 3
#: A condition is added only if it raises the F1 score by so much: a shorter rule is easier to read.
LEAST_GAIN = 0.02
#: Maximum number of rows searched (half of them in the cluster), and of columns (those that separate it best).
MOST_ROWS, MOST_COLUMNS = 4_000, 30
#: Maximum number of levels in a condition.
MOST_LEVELS = 4


@dataclass(frozen=True, eq=False)
class _Draft:
    """A rule under construction: its conditions, the rows that meet them, and its score."""

    conditions: tuple[Condition, ...]
    met: Mask
    score: float


def rules_of(found: Findings) -> tuple[ClusterRule, ...]:
    """The rule of each cluster with the largest F1 score, 2 p r / (p + r) of precision p and recall r, that was found.

    Limits are chosen on the same rows: precision and recall are those of this table, not of new rows.
    """
    rules = []
    for k, compared in enumerate(found.contrasts.clusters):
        columns = [found.columns[contrast.column] for contrast in compared[:MOST_COLUMNS] if contrast.separation > 0]
        conditions = search(columns, found.labels == k)
        rules.append(judged(k, conditions, found.columns, found.labels == k))
    return tuple(rules)


def judged(k: int, conditions: tuple[Condition, ...], columns: Sequence[TableColumn], member: Mask) -> ClusterRule:
    """A rule with its precision and recall on all rows; without conditions it selects nothing."""
    if not conditions:
        return ClusterRule(k, (), 0.0, 0.0, 0)
    met = ClusterRule(k, conditions, 0.0, 0.0, 0).met(columns)
    right, n = int(np.count_nonzero(met & member)), int(np.count_nonzero(met))
    return ClusterRule(k, conditions, right / max(n, 1), right / max(int(member.sum()), 1), n)


def search(columns: Sequence[TableColumn], member: Mask) -> tuple[Condition, ...]:
    """Conditions whose conjunction finds the members."""
    if not member.any() or member.all():
        return ()
    rows, weights = _searched(member)
    some = [column.taken(rows) for column in columns]
    orders = [np.argsort(column.values, kind="stable")[: int(column.seen.sum())] for column in some]
    signed = np.where(member[rows], weights, 0.0)
    kept = [_Draft((), np.ones(len(rows), dtype=bool), 0.0)]
    best = kept[0]
    for _ in range(MOST_CONDITIONS):
        grown = [
            _Draft((*draft.conditions, condition), draft.met & condition.met(column), score)
            for draft in kept
            for column, order in zip(some, orders, strict=True)
            for condition, score in _conditions(column, order[draft.met[order]], signed, weights)
            if score > draft.score
        ]
        if not grown:
            break
        kept = sorted(grown, key=lambda draft: -draft.score)[:BEAM]
        if kept[0].score < best.score + LEAST_GAIN:
            break
        best = kept[0]
    return _shortened(best.conditions)


def _searched(member: Mask) -> tuple[Index, Real]:
    """Rows to search, and the number of rows that each stands for."""
    random, rows, weights = np.random.default_rng(0), [], []
    for of in (np.flatnonzero(member), np.flatnonzero(~member)):
        kept = of if len(of) <= MOST_ROWS // 2 else random.choice(of, MOST_ROWS // 2, replace=False)
        rows.append(kept)
        weights.append(np.full(len(kept), len(of) / len(kept)))
    return np.concatenate(rows), np.concatenate(weights)


def _conditions(column: TableColumn, order: Index, right: Real, weights: Real) -> Iterator[tuple[Condition, float]]:
    """The best condition of each sign on the rows of `order`, sorted by value, with the F1 score of the rule.

    `right` is the weight of a row of the cluster, 0 for any other.
    """
    if not len(order):
        return
    members, values = float(right.sum()), column.values[order]
    hits, taken = np.cumsum(right[order]), np.cumsum(weights[order])
    ends = np.flatnonzero(np.diff(values))  # limits are between distinct values
    if column.levels:
        yield from _level_conditions(column, values, (hits, taken), np.append(ends, len(values) - 1), members)
        return
    if not len(ends):
        return
    low, high = _f1(hits[ends], taken[ends], members), _f1(hits[-1] - hits[ends], taken[-1] - taken[ends], members)
    for score, above in ((low, False), (high, True)):
        at = int(score.argmax())
        yield number_condition(column, values[ends[at]], values[ends[at] + 1], above=above), float(score[at])


def _level_conditions(
    column: TableColumn, values: Real, totals: tuple[Real, Real], ends: Index, members: float
) -> Iterator[tuple[Condition, float]]:
    """The levels with the largest share of members, as long as each raises the score; pooled levels have no name."""
    hits, taken = (np.diff(total[ends], prepend=0.0) for total in totals)
    places = values[ends].astype(np.intp)
    named = places < len(column.levels) - column.pooled
    hits, taken, places = hits[named], taken[named], places[named]
    order = np.argsort(-hits / np.maximum(taken, 1e-300), kind="stable")[:MOST_LEVELS]
    if not len(order):
        return
    scores = _f1(np.cumsum(hits[order]), np.cumsum(taken[order]), members)
    at = int(scores.argmax())
    chosen = sorted(places[order[: at + 1]].tolist())
    levels = tuple(column.levels[place] for place in chosen)
    yield Condition(column.name, "in", levels=levels, kind=column.kind), float(scores[at])


def _f1(hits: Real, taken: Real, members: float) -> Real:
    """2 hits / (rows selected + rows of the cluster), the harmonic mean of precision and recall."""
    return 2 * hits / (taken + members)


def number_condition(column: TableColumn, low: float, high: float, *, above: bool) -> Condition:
    """The condition that separates the neighbouring values low < high, with a short limit between them."""
    limit = (float(high) if above else float(low)) if column.whole else short_limit(float(low), float(high))
    sign = "<=" if not above else ">=" if column.whole else ">"
    markers = tuple(marker for marker in column.markers if (marker > limit if above else marker <= limit))
    markers += (limit,) if above and column.whole and limit in column.markers else ()
    return Condition(column.name, sign, limit, kind=column.kind, markers=markers)


def short_limit(low: float, high: float) -> float:
    """The decimal number with the fewest digits in [low, high), one near their middle; 0 if that is between them."""
    if low <= 0 < high:
        return 0.0
    middle = (Decimal(low) + Decimal(high)) / 2
    for digits in range(1, 18):
        unit = Decimal(1).scaleb(middle.adjusted() - digits + 1)
        for way in (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING):
            limit = float(middle.quantize(unit, way))
            if low <= limit < high:
                return limit
    return low


def _shortened(conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Without conditions that another one on the same column and with the same sign implies."""
    last: dict[tuple[str, str], Condition] = {}
    for condition in conditions:  # later conditions on the same column are narrower
        last[condition.column, condition.sign] = condition
    return tuple(last.values())
