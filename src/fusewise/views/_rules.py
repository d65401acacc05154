"""A decision rule of a few conditions for each cluster, as text and SQL, and the search for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from fusewise.kernels import Index, Mask, Real
from fusewise.support import PlainRecord, counted, readable
from fusewise.views._columns import TableColumn

if TYPE_CHECKING:
    from fusewise.views._findings import Findings


#: How a value of a column is compared with a limit.
SIGNS: dict[str, Callable[[Real, float], Mask]] = {
    "=": np.equal, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip


@dataclass(frozen=True)
class Condition(PlainRecord):
    """A condition on one column; a row whose value is missing does not meet it.

    Attributes
    ----------
    column : name of the column.
    sign : "=", "<=", ">", ">=", or "in" for a set of levels, of an ordered column a range.
    limit : the limit of a number; None for levels.
    levels : the levels of a category.
    kind : kind of the column.
    markers : numbers that stand for a missing value and would meet the condition.
    """

    column: str
    sign: str
    limit: float | None = None
    levels: tuple[Any, ...] = ()
    kind: str = "number"
    markers: tuple[float, ...] = ()

    def met(self, column: TableColumn) -> Mask:
        """Whether each row of a column meets it."""
        values = column.values
        if self.limit is None:
            return np.isin(values, [column.levels.index(level) for level in self.levels])
        return SIGNS[self.sign](values, self.limit)

    _written: ClassVar = ("text",)

    @property
    def text(self) -> str:
        """The condition in words."""
        if self.limit is not None:
            sign = {"<=": "≤", ">=": "≥"}.get(self.sign, self.sign)
            return f"{self.column} {sign} {self.limit_text}"
        words = list(map(str, self.levels))
        if len(words) == 1:
            return f"{self.column} = {level_word(words[0])}"
        if self.kind == "ordered":
            return f"{self.column} from {level_word(words[0])} to {level_word(words[-1])}"
        return f"{self.column} is {either(words)}"

    @property
    def limit_text(self) -> str:
        """The limit as text."""
        return "" if self.limit is None else limit_word(self.limit)

    def __str__(self) -> str:
        return self.text

    def as_sql(self) -> str:
        """The condition in standard SQL, in which a comparison with NULL is not true."""
        name = sql_name(self.column)
        if self.limit is None:
            return _sql_levels(name, self.levels)
        without = "".join(f" AND {name} <> {_code(marker)}" for marker in self.markers)
        return f"{name} {self.sign} {_code(self.limit)}{without}"


@dataclass(frozen=True)
class ClusterRule(PlainRecord):
    """Conditions that a row of the cluster meets and few other rows do.

    Attributes
    ----------
    cluster : the cluster.
    conditions : all of them must be met; empty if no condition tells the cluster from other rows.
    precision : share of the cluster among the rows that meet them.
    recall : share of the rows of the cluster that meet them.
    n_rows : number of rows that meet them.
    """

    cluster: int
    conditions: tuple[Condition, ...]
    precision: float
    recall: float
    n_rows: int

    _written: ClassVar = ("text", "sentence")

    @property
    def text(self) -> str:
        """The conditions in words."""
        words: dict[Any, str] = {}
        for condition in self.conditions:
            ends = {of.sign: of for of in self.conditions if of.column == condition.column and of.limit is not None}
            low = ends.get(">", ends.get(">="))
            if low and "<=" in ends:  # "35 ≤ wind ≤ 60", and not "wind ≥ 35 and wind ≤ 60"
                sign = "<" if low.sign == ">" else "≤"
                words[condition.column] = f"{low.limit_text} {sign} {ends['<='].text}"
            else:
                words[condition] = condition.text
        return " and ".join(words.values()) or "no rule"

    def __str__(self) -> str:
        return self.text

    @property
    def sentence(self) -> str:
        """The rule with its precision and recall in words."""
        return f"{self} ({self.success})"

    @property
    def success(self) -> str:
        """Its precision and recall in words."""
        if not self.conditions:
            return "no condition tells the cluster from other rows"
        some = f"{percent(self.precision)} of the {counted(self.n_rows, 'row')} it selects are in it"
        return f"finds {percent(self.recall)} of the cluster, and {some}"

    def met(self, columns: Sequence[TableColumn]) -> Mask:
        """Whether each row of a table meets the rule."""
        named = {column.name: column for column in columns}
        return reduce(np.logical_and, (condition.met(named[condition.column]) for condition in self.conditions))

    def as_sql(self, table_name: str) -> str:
        """A query for the rows that meet the rule."""
        where = "\n  AND ".join(condition.as_sql() for condition in self.conditions) or "0 = 1"
        return f"SELECT * FROM {sql_name(table_name)}\nWHERE {where};"


def sql_script(rules: Sequence[ClusterRule], table_name: str) -> str:
    """All rules as queries, each after a comment on its success; missing values must be NULL."""
    head = "-- One query per cluster. Missing values must be NULL: they meet no condition.\n"
    queries = [f"-- Cluster {rule.cluster}: {rule.success}\n{rule.as_sql(table_name)}\n" for rule in rules]
    return "\n".join([head, *queries])


def sql_name(name: str) -> str:
    """A quoted identifier; null characters, which SQL does not allow in any name, are left out."""
    return '"' + name.replace("\0", "").replace('"', '""') + '"'


def _sql_levels(name: str, levels: Sequence[Any]) -> str:
    r"""A condition that is met by the levels.

    Some databases take \' for a quotation mark in a string, and what follows would not be part of the string. With
    such levels, each quotation mark of the column is replaced by a full stop, and a backslash stands for any sign.
    """
    risky = [level for level in levels if isinstance(level, str) and re.search(r"\\('|\Z)", level)]
    words = [sql_value(level) for level in levels if level not in risky]
    met = [f"{name} = {words[0]}"] if len(words) == 1 else [f"{name} IN ({', '.join(words)})"] if words else []
    for level in risky:
        places, signs = sql_value(level.replace("\\", "_")), sql_value(level.replace("'", ".") + ".")
        met.append(f"({name} LIKE {places} AND REPLACE({name} || '.', '''', '.') = {signs})")
    return met[0] if len(met) == 1 else f"({' OR '.join(met)})"


def sql_value(level: Any) -> str:
    """A level as a literal: numbers as they are, truth values as TRUE and FALSE, anything else as a quoted string."""
    if isinstance(level, bool | np.bool_):
        return "TRUE" if level else "FALSE"
    if isinstance(level, int | float | np.number):
        return _code(float(level))
    return "'" + str(level).replace("\0", "").replace("'", "''") + "'"


def _code(value: float) -> str:
    """A number in SQL: 3 for 3.0, else the shortest decimal that gives the same float."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def percent(share: float, digits: int = 0) -> str:
    """A share in percent: "0%" and "100%" only if it is exactly that."""
    least = 0.5 / 10 ** (digits + 2)
    if 0 < share < least:
        return f"<{10**-digits:g}%"
    return f">{100 - 10**-digits:g}%" if 1 - least <= share < 1 else f"{share:.{digits}%}"


def level_word(level: str) -> str:
    """A level as text, in quotation marks if it could be read as two."""
    return f'"{level}"' if "," in level or " or " in level or " and " in level else level


def either(levels: Sequence[str]) -> str:
    """Two or more levels as in "a, b or c"."""
    return f"{', '.join(map(level_word, levels[:-1]))} or {level_word(levels[-1])}"


def limit_word(limit: float) -> str:
    """A limit as text, with all of its digits where it has few."""
    code = _code(limit)
    if len(code) > 8:
        return readable(limit)
    return (f"{int(code):,}" if abs(limit) >= 10_000 and code.lstrip("-").isdigit() else code).replace("-", "−")


#: Maximum number of conditions, and how many of the best rules are kept while conditions are added.
MOST_CONDITIONS, BEAM = 3, 3
#: A condition is added only if it raises the F1 score by so much: a shorter rule is easier to read.
LEAST_GAIN = 0.02
#: Maximum number of rows searched (half of them in the cluster), and of columns (those that separate it best).
MOST_ROWS, MOST_COLUMNS = 4_000, 30
#: Maximum number of levels in a condition.
MOST_LEVELS = 4


class _Draft(NamedTuple):
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
        conditions = search(columns, found.labels == k) if found.n_clusters > 1 else ()
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
        kept = sorted(grown, key=lambda draft: -draft.score)[:BEAM]
        if not kept or kept[0].score < best.score + LEAST_GAIN:
            break
        best = kept[0]
    # Of conditions on the same column with the same sign, the last is the narrowest.
    return tuple({(condition.column, condition.sign): condition for condition in best.conditions}.values())


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
    elif len(ends):
        low, high = _f1(hits[ends], taken[ends], members), _f1(hits[-1] - hits[ends], taken[-1] - taken[ends], members)
        for score, above in ((low, False), (high, True)):
            at = int(score.argmax())
            yield number_condition(column, values[ends[at]], values[ends[at] + 1], above=above), float(score[at])


def _level_conditions(
    column: TableColumn, values: Real, totals: tuple[Real, Real], ends: Index, members: float
) -> Iterator[tuple[Condition, float]]:
    """The levels with the largest share of members, as long as each raises the score; pooled levels have no name.

    Of an ordered column, the range of levels with the largest score.
    """
    hits, taken = (np.diff(total[ends], prepend=0.0) for total in totals)
    places = values[ends].astype(np.intp)
    if column.kind == "ordered":
        low, high = np.triu_indices(len(places))
        sums = np.cumsum(np.pad([hits, taken], ((0, 0), (1, 0))), axis=1)
        hits, taken = sums[:, high + 1] - sums[:, low]
        scores = _f1(hits, taken, members)
        best = int(scores.argmax())
        levels = column.levels[places[low[best]] : places[high[best]] + 1]
        if len(levels) < len(column.levels):
            yield Condition(column.name, "in", levels=levels, kind=column.kind), float(scores[best])
        return
    named = places < len(column.levels) - column.pooled
    hits, taken, places = hits[named], taken[named], places[named]
    order = np.argsort(-hits / np.maximum(taken, 1e-300), kind="stable")[:MOST_LEVELS]
    if len(order):
        scores = _f1(np.cumsum(hits[order]), np.cumsum(taken[order]), members)
        at = int(scores.argmax())
        levels = tuple(column.levels[place] for place in sorted(places[order[: at + 1]].tolist()))
        yield Condition(column.name, "in", levels=levels, kind=column.kind), float(scores[at])


def _f1(hits: Real, taken: Real, members: float) -> Real:
    """2 hits / (rows selected + rows of the cluster), the harmonic mean of precision and recall."""
    return 2 * hits / (taken + members)


def number_condition(column: TableColumn, low: float, high: float, *, above: bool) -> Condition:
    """The condition that separates the neighbouring values low < high, with a short limit between them."""
    limit = (float(high) if above else float(low)) if column.whole else short_limit(float(low), float(high))
    sign = "<=" if not above else ">=" if column.whole else ">"
    if column.whole and limit in column.ends and (limit == column.ends[1]) == above:
        sign = "="  # nothing is beyond it
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
