"""What makes a group: every cluster compared with the other rows, column by column of the user's table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fusewise.kernels import Index, Labels, Mask, Real
from fusewise.support import PlainRecord
from fusewise.views._columns import ColumnBins, TableColumn, bins_of
from fusewise.views._effects import (
    LEVEL,
    Effect,
    between_groups,
    chi_square_p_value,
    cliffs_delta,
    cramers_v_squared,
    gap_p_value,
    holm,
    largest_gap,
    share_difference,
    total_variation,
)
from fusewise.views._rules import short_limit

if TYPE_CHECKING:
    from fusewise.views._findings import Findings


@dataclass(frozen=True)
class Side:
    """The values of a column inside a cluster, or outside it."""

    # number of observed values, and share of missing ones
    n: int
    missing: float
    counts: tuple[int, ...]  # number of values in each bin or level
    # of numbers and of the positions of ordered levels; NaN otherwise
    median: float = np.nan
    mean: float = np.nan
    # quantiles at 10% and 90%
    low: float = np.nan
    high: float = np.nan
    within: float = np.nan  # share of the values between those two quantiles of the cluster
    above: float = np.nan  # share of the values above the limit of the contrast

    @property
    def shares(self) -> tuple[float, ...]:
        """The counts as shares of the observed values."""
        return tuple(count / max(self.n, 1) for count in self.counts)


class _CountedValues:
    """The distinct values of a column in increasing order: one sort serves every cluster."""

    def __init__(self, column: TableColumn, bins: ColumnBins) -> None:
        self.column, self.n_bins = column, bins.n_bins
        self.distinct, self.places = np.unique(column.values[column.seen], return_inverse=True)
        self.bins = bins.places_of(self.distinct)

    def split(self, member: Mask) -> Index:
        """2 x distinct values: how often each occurs inside and outside a cluster."""
        inside = np.bincount(self.places[member[self.column.seen]], minlength=len(self.distinct))
        return np.stack([inside, np.bincount(self.places, minlength=len(self.distinct)) - inside])

    def side(self, counts: Index, n_rows: int) -> Side:
        """Describe one side."""
        n = int(counts.sum())
        missing = 1 - n / n_rows if n_rows else 0.0
        binned = tuple(np.bincount(self.bins, counts, self.n_bins).astype(int).tolist())
        if not self.column.scaled or not n:
            return Side(n, missing, binned)
        upto = np.cumsum(counts)
        at = np.array([0.1, 0.5, 0.9]) * (n - 1)  # quantiles with linear interpolation, as numpy.quantile
        below, above = (self.distinct[np.searchsorted(upto, part(at), "right")] for part in (np.floor, np.ceil))
        low, median, high = (below + (at - np.floor(at)) * (above - below)).tolist()
        return Side(n, missing, binned, median, float((counts * self.distinct).sum()) / n, low, high)

    def placed(self, side: Side, counts: Index, here: Side, limit: float) -> Side:
        """The side with the shares of its values in the inner 80% of the cluster and above a limit."""
        if not side.n or np.isnan(here.low):
            return side
        inner = (self.distinct >= here.low) & (self.distinct <= here.high)
        shares = [int(counts[some].sum()) / side.n for some in (inner, self.distinct > limit)]
        return replace(side, within=shares[0], above=shares[1] if np.isfinite(limit) else np.nan)


#: Maximum number of columns compared cluster by cluster (those that matter most), and of rows compared.
MOST_COLUMNS, MOST_ROWS = 60, 100_000
#: Number of entries ranked at a time.
MOST_ENTRIES = 1_000_000
#: Fewest observed values of a group for a statement about it, and the smallest share of its rows they must be.
LEAST_VALUES, LEAST_SHARE = 5, 0.1


def enough(n_values: Any, n_rows: Any) -> Any:
    """Whether so many observed values of a group's rows, numbers or arrays, represent it."""
    return (n_values >= LEAST_VALUES) & (n_values >= LEAST_SHARE * n_rows)


@dataclass(frozen=True, eq=False)
class ColumnImportance(PlainRecord):
    """How much a column differs between the clusters.

    Attributes
    ----------
    position, name, kind : of the column among those used.
    importance : share of its variance that is between the clusters, eta² (positions for ordered levels); for
        categories Cramér's V², which is the same for two levels. From 0 to 1. Clusters in which it was hardly
        observed (fewer than 5 values, or than a tenth of the rows) do not count.
    p_value : of Kruskal and Wallis's test, or Pearson's chi-square test for categories, with Holm's correction for the
        number of columns; NaN if fewer than two clusters can be compared.
    missing : share of missing values.
    bins : the bins or levels that its distributions are counted in; empty if it is not compared cluster by cluster.
    """

    position: int
    name: str
    kind: str
    importance: float
    p_value: float
    missing: float
    bins: ColumnBins

    _written: ClassVar = ("measure", "differs")

    @property
    def measure(self) -> str:
        """What the importance measures."""
        return "eta squared" if self.kind in ("number", "ordered") else "Cramér's V squared"

    @property
    def differs(self) -> bool:
        """Whether the clusters differ beyond chance, at a level of 1%."""
        return self.p_value < LEVEL

    @property
    def compared(self) -> bool:
        """Whether at least two clusters have values enough to be compared."""
        return not np.isnan(self.p_value)


@dataclass(frozen=True, eq=False)
class Contrast(PlainRecord):
    """One column of one cluster against the same column of all other rows.

    Attributes
    ----------
    cluster, column : the cluster, and the position of the column.
    name, kind : of the column.
    effect : Cliff's delta of numbers and ordered levels; of categories the largest difference in the share of a level.
        None if one side has too few observed values (fewer than 5, or than a tenth of its rows).
    level : that level; None for numbers and ordered levels.
    levels : the levels in which the sides are counted; empty for numbers.
    separation : the largest difference of the shares that the column can show, from 0 to 1, by which columns are
        sorted: of values above any limit (Kolmogorov and Smirnov's distance), or of any set of levels (total
        variation).
    limit : that limit; NaN for categories.
    p_value : of Kolmogorov and Smirnov's or Pearson's chi-square test, with Holm's correction over all contrasts, and
        no smaller than that of the column: what does not differ between the clusters tells none of them apart.
    missing : difference in the share of missing values.
    inside, outside : the two distributions.
    center : the model's centre: a number, or the share of each level.
    """

    cluster: int
    column: int
    name: str
    kind: str
    effect: Effect | None
    level: str | None
    levels: tuple[str, ...]
    separation: float
    limit: float
    p_value: float
    missing: Effect | None
    inside: Side
    outside: Side
    center: tuple[float, ...]

    _written: ClassVar = ("differs",)

    @property
    def differs(self) -> bool:
        """Whether the difference is beyond chance, at a level of 1%."""
        return self.p_value < LEVEL

    def as_line(self) -> dict[str, Any]:
        """The numbers without the distributions, as a line of a table."""
        effect = {name: getattr(self.effect, name, None) for name in ("name", "value", "error", "low", "high")}
        return {
            "cluster": self.cluster,
            "column": self.name,
            "kind": self.kind,
            "separation": self.separation,
            "effect": effect.pop("name"),
            **effect,
            "level": self.level,
            "p_value": self.p_value,
            **{f"{name}_inside": getattr(self.inside, name) for name in ("n", "median", "mean", "missing")},
            **{f"{name}_outside": getattr(self.outside, name) for name in ("n", "median", "mean", "missing")},
            "center": self.center[0] if len(self.center) == 1 else None,
        }


@dataclass(frozen=True, eq=False)
class Contrasts(PlainRecord):
    """All clusters compared.

    Attributes
    ----------
    columns : every column, the most important first.
    clusters : for each cluster its contrasts, the column that tells it apart best first.
    n_rows : number of rows compared: all, or a random sample.
    """

    columns: tuple[ColumnImportance, ...]
    clusters: tuple[tuple[Contrast, ...], ...]
    n_rows: int


def contrasts_of(found: Findings, most_columns: int = MOST_COLUMNS, most_rows: int = MOST_ROWS) -> Contrasts:
    """Compare every cluster with all other rows (other clusters and outliers), in each column of the table."""
    n = len(found.labels)
    rows: Any = slice(None) if n <= most_rows else np.sort(np.random.default_rng(0).choice(n, most_rows, replace=False))
    columns, labels = [column.taken(rows) for column in found.columns], found.labels[rows]
    shares, p_values = importances_of(columns, labels)
    corrected = holm(p_values)
    least, centers = 1 if found.rows else LEAST_VALUES, found.shown(found.centers)
    listed, raw = [], []
    for at, j in enumerate(np.argsort(-shares, kind="stable").tolist()):
        column, compared = columns[j], at < most_columns
        missing = 1 - float(column.seen.mean()) if len(column.values) else 0.0
        bins = bins_of(column, least) if compared else ColumnBins()
        about = ColumnImportance(j, column.name, column.kind, float(shares[j]), float(corrected[j]), missing, bins)
        listed.append(about)
        if compared:
            values = _CountedValues(column, bins)
            raw += [_contrast(about, values, labels, k, centers[k]) for k in range(found.n_clusters)]
    clusters: list[list[Contrast]] = [[] for _ in range(found.n_clusters)]
    for contrast, p_value in zip(raw, holm(np.array([contrast.p_value for contrast in raw])), strict=True):
        p_value = np.maximum(p_value, corrected[contrast.column])  # NaN if either is
        clusters[contrast.cluster].append(replace(contrast, p_value=float(p_value)))
    ordered = tuple(tuple(sorted(of, key=lambda contrast: -contrast.separation)) for of in clusters)
    return Contrasts(tuple(listed), ordered, len(labels))


def importances_of(columns: Sequence[TableColumn], labels: Labels) -> tuple[Real, Real]:
    """eta² or V² of each column over the rows in clusters, and the p-values of the tests, not corrected."""
    kept = labels >= 0
    inside = labels[kept]
    sizes = np.bincount(inside)
    shares, p_values = np.zeros(len(columns)), np.full(len(columns), np.nan)
    scaled = [j for j, column in enumerate(columns) if column.scaled]
    width = max(1, MOST_ENTRIES // max(len(labels), 1))
    for start in range(0, len(scaled), width):
        some = scaled[start : start + width]
        table = np.column_stack([columns[j].values[kept] for j in some])
        observed = np.zeros((len(sizes), len(some)), np.intp)
        np.add.at(observed, inside, ~np.isnan(table))
        table[~enough(observed, sizes[:, None])[inside]] = np.nan
        shares[some], p_values[some] = between_groups(table, inside)
    for j in (j for j, column in enumerate(columns) if not column.scaled):
        seen = columns[j].seen & kept
        counts = np.zeros((len(sizes), len(columns[j].levels)), np.intp)
        np.add.at(counts, (labels[seen], columns[j].values[seen].astype(np.intp)), 1)
        counts[~enough(counts.sum(axis=1), sizes)] = 0
        shares[j], p_values[j] = cramers_v_squared(counts), chi_square_p_value(counts)
    return shares, p_values


def _contrast(about: ColumnImportance, values: _CountedValues, labels: Labels, k: int, center: Real) -> Contrast:
    """Compare cluster `k` with all other rows."""
    member = labels == k
    n = int(np.count_nonzero(member))
    m = len(member) - n
    counts = values.split(member)
    here, there = values.side(counts[0], n), values.side(counts[1], m)
    missing = share_difference(n - here.n, n, m - there.n, m) if n and m else None
    effect, level, separation, limit, p_value = None, None, 0.0, np.nan, np.nan
    if enough(here.n, n) and enough(there.n, m):
        effect, level, separation, limit, p_value = _compared(values.column, values.distinct, counts)
    here, there = values.placed(here, counts[0], here, limit), values.placed(there, counts[1], here, limit)
    return Contrast(
        k, about.position, about.name, about.kind, effect, level, about.bins.levels, separation, limit, p_value,
        missing, here, there, model_center(values.column, center),
    )  # fmt: skip


def _compared(
    column: TableColumn, distinct: Real, counts: Index
) -> tuple[Effect | None, str | None, float, float, float]:
    """Effect, level, separation, limit and p-value of a column."""
    n, m = counts.sum(axis=1).tolist()
    if column.scaled:
        gap, at = largest_gap(*counts)
        low, high = (float(value) for value in distinct[[at, min(at + 1, len(distinct) - 1)]])
        limit = low if column.whole or column.levels else short_limit(low, high)
        return cliffs_delta(*counts), None, gap, limit, gap_p_value(gap, n, m)
    away = counts[0] / n - counts[1] / m
    # Of two levels one is as much more frequent as the other is less: the more frequent one is named.
    at = int(away.argmax() if away.max() >= -away.min() - 1e-12 else away.argmin())
    effect = share_difference(int(counts[0, at]), n, int(counts[1, at]), m)
    level = str(column.levels[int(distinct[at])])
    return effect, level, total_variation(*counts), np.nan, chi_square_p_value(counts)


def model_center(column: TableColumn, center: Real) -> tuple[float, ...]:
    """The model's centre of a column: a number (of ordered levels as numbers, a position), or the share of each level.

    Shrinkage can leave a share slightly outside [0, 1].
    """
    part = center[slice(*column.features)]
    if column.kind == "number" or (column.kind == "ordered" and len(part) == 1):
        return (float(part[0]),)
    shares = np.clip(part, 0, 1)
    both = [1 - shares[0], shares[0]] if len(shares) == 1 and len(column.levels) == 2 else shares
    return tuple(float(share) for share in both)
