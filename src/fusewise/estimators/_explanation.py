"""Why a row is in its cluster: what each of its entries adds to the log-odds against the runner-up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from math import factorial
from typing import Any

import numpy as np

from fusewise.estimators._base import frame_of
from fusewise.estimators._result import ClusteringResult
from fusewise.kernels import Index, Real
from fusewise.observations import BoundedEntries, Entries, Table
from fusewise.support import InputError, readable
from fusewise.tables import FrameEncoder

#: Contributions are averaged over this many random orders of a row's entries and their reverses, or over all orders if
#: there are no more. With two columns that depend on each other an order and its reverse give the exact mean.
ORDERS = 12
#: Entries of a row that its explanation names in words.
MOST_NAMED = 6


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What each observed entry of a row adds to the log-odds of its likeliest cluster against the runner-up.

        log_odds = by_size + sum(nats)

    An entry adds the log-odds with it less those without it. Where columns depend on each other that depends on which
    other entries are known, and the mean over the orders in which they become known is taken (the Shapley value).

    Attributes
    ----------
    row : number of the row, or its name in the index of a pandas frame.
    cluster, runner_up : the likeliest cluster and the second.
    outlier : whether the row is far from all clusters, and has the label -1.
    log_odds : logarithm of the ratio of the probabilities of the two clusters, in nats.
    by_size : what the shares of the two clusters add, before anything is known of the row.
    columns, values : the columns in which the row has an entry, and the entries in words.
    nats : what each of these entries adds; negative if it speaks for the runner-up.
    positions : the numbers of these columns in the table, from 0.
    """

    row: Any
    cluster: int
    runner_up: int
    outlier: bool
    log_odds: float
    by_size: float
    columns: tuple[str, ...]
    values: tuple[str, ...]
    nats: Real
    positions: tuple[int, ...]

    def __repr__(self) -> str:
        where = "an outlier, nearest to" if self.outlier else "in"
        odds = f"{readable(np.exp(self.log_odds))} to 1" if self.log_odds < 12 else "beyond doubt"
        lines = [
            f"row {self.row}: {where} cluster {self.cluster} rather than {self.runner_up}, "
            f"{readable(self.log_odds)} nats ({odds})"
        ]
        order = np.argsort(-np.abs(self.nats), kind="stable")
        lines += [self._line(f"{self.columns[j]} = {self.values[j]}", self.nats[j]) for j in order[:MOST_NAMED]]
        if len(order) > MOST_NAMED:
            rest = order[MOST_NAMED:]
            lines.append(self._line(f"{len(rest)} other entries together", self.nats[rest].sum()))
        return "\n".join([*lines, self._line("sizes of the clusters", self.by_size)])

    def _line(self, what: str, nats: float) -> str:
        return f"  {what}: {readable(abs(nats))} for {self.cluster if nats >= 0 else self.runner_up}"

    def to_frame(self) -> Any:
        """A pandas DataFrame with one line for each observed entry, the strongest first."""
        order = np.argsort(-np.abs(self.nats), kind="stable")
        columns, values = ([given[j] for j in order] for given in (self.columns, self.values))
        return frame_of({"column": columns, "value": values, "nats": self.nats[order]})


def explanations(
    result: ClusteringResult, table: Table, encoder: FrameEncoder | None, names: Sequence[str], rows: Sequence[Any]
) -> list[Explanation]:
    """Explain each row of a table, given the names of its columns (if there is no encoder) and rows."""
    if result.n_clusters < 2:
        raise InputError("the model has one cluster: there is no other that a row could be in instead")
    columns: list[tuple[str, Index, Sequence[str]]] = [(name, np.array([j]), ()) for j, name in enumerate(names)]
    if encoder is not None:
        parts = encoder.by_column(np.arange(float(table.shape[1]))[None])
        columns = [(code.name, part[0].astype(np.intp), code.features if code.is_block else ()) for code, part in parts]
    labels = result.labeller.of_rows("labels", table)
    found = []
    for i, row in enumerate(rows):
        entries = table.take(np.array([i])).dense()
        places = [j for j, column in enumerate(columns) if entries.known[0, column[1][0]]]
        own = [columns[j] for j in places]
        known, best, second = _log_odds_as_entries_come(result, entries, [features for _, features, _ in own])
        steps, at = np.diff(known, axis=1), np.array(_orders(len(own)))
        values = [_in_words(entries, features, name, levels) for name, features, levels in own]
        explanation = Explanation(
            row=row,
            cluster=best,
            runner_up=second,
            outlier=bool(labels[i] < 0 < len(own)),
            log_odds=float(known[0, -1]),
            by_size=float(known[0, 0]),
            columns=tuple(name for name, _, _ in own),
            values=tuple(values),
            nats=np.array([steps[at == j].mean() for j in range(len(own))]),
            positions=tuple(places),
        )
        found.append(explanation)
    return found


def _orders(n: int) -> list[tuple[int, ...]]:
    """Orders of n entries: all of them, or random ones and their reverses."""
    if factorial(n) <= 2 * ORDERS:
        return list(permutations(range(n)))
    random = np.random.default_rng(0)
    some = [tuple(random.permutation(n).tolist()) for _ in range(ORDERS)]
    return some + [order[::-1] for order in some]


def _log_odds_as_entries_come(
    result: ClusteringResult, row: Entries, entries: Sequence[Index]
) -> tuple[Real, int, int]:
    """The log-odds of a row with 0, 1, ... of its entries, for each order; and the two clusters that they compare."""

    def half_squares(masks: Any) -> Real:
        part = row.take(np.zeros(len(masks), np.intp)).only(masks)
        return np.asarray(0.5 * np.square(result.labeller.classifier.distances(part)))

    best, second = np.argsort(half_squares(row.known)[0], kind="stable")[:2].tolist()
    known = []
    for order in _orders(len(entries)):
        masks = np.zeros((len(entries) + 1, row.shape[1]), bool)
        for step, j in enumerate(order, 1):
            masks[step:, entries[j]] = True
        squares = half_squares(masks)
        known.append(squares[:, second] - squares[:, best])
    return np.array(known), best, second


def _in_words(row: Entries, features: Index, name: str, levels: Sequence[str]) -> str:
    """An entry: the name of its level, which follows that of its column, or a number and its error, or its bounds."""
    value = row.values[0, features]
    if isinstance(row, BoundedEntries) and row.bounded[0, features[0]]:
        low, high = (float(end[0, features[0]]) for end in (row.low, row.high))
        if np.isinf(low):
            return f"at most {readable(high, 4)}"
        return f"at least {readable(low, 4)}" if np.isinf(high) else f"{readable(low, 4)} to {readable(high, 4)}"
    if levels:
        return levels[int(np.argmax(value.real))][len(name) + 1 :]
    if np.iscomplexobj(value):
        return f"{value[0]:.4g}"
    error = 0.0 if row.variances is None else float(np.sqrt(row.variances[0, features[0]]))
    return readable(float(value[0]), 4) + (f" ± {readable(error, 2)}" if error else "")
