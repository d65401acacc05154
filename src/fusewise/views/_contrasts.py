"""What makes a group: every cluster compared with the other rows, column by column of the user's table.

Effect sizes of two samples are computed from the counts of the distinct values in increasing order, so that ties are
exact and one sort of a column serves every cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.special import chdtrc, kolmogorov, ndtri
from scipy.stats import rankdata

from fusewise.kernels import Index, Labels, Mask, Real
from fusewise.support import PlainRecord
from fusewise.views._columns import ColumnBins, TableColumn, bins_of
from fusewise.views._rules import short_limit

if TYPE_CHECKING:
    from fusewise.views._findings import Findings

#: Probability that an interval contains the effect, and its quantile of the normal distribution.
COVERAGE = 0.95
QUANTILE = float(ndtri((1 + COVERAGE) / 2))
#: Significance level of corrected p-values.
LEVEL = 0.01


@dataclass(frozen=True)
class Effect(PlainRecord):
    """A difference of two probabilities with its uncertainty.

    Attributes
    ----------
    name : "Cliff's delta", P(inside > outside) - P(inside < outside), or "difference in share", inside - outside. For
        two levels these are the same number.
    value : the difference, from -1 to 1.
    parts : the two probabilities.
    error : standard error (DeLong, 1988; for shares that of two independent proportions).
    low, high : limits of its 95% interval.
    """

    name: str
    value: float
    parts: tuple[float, float]
    error: float
    low: float
    high: float


def cliffs_delta(inside: Index, outside: Index) -> Effect:
    """Cliff's delta of two samples, d = P(x > y) - P(x < y), with DeLong's standard error.

    The interval is Cliff's (1993), which allows for the skewness near -1 and 1:

        (d - d³ ± z s sqrt((1 - d²)² + z² s²)) / (1 - d² + z² s²).

    Without any overlap s is 0; the limit is then the exact one of n successes out of n for the smaller sample.
    """
    n, m = int(inside.sum()), int(outside.sum())
    below, above = np.cumsum(outside) - outside, np.cumsum(inside)
    higher = (below + outside / 2) / m  # P(value > y) + P(value = y) / 2
    lower = (n - above + inside / 2) / n  # P(x > value) + P(x = value) / 2
    # Sums of products, not "@": threads of a matrix product take longer than the product.
    area = float((inside * higher).sum()) / n
    ties = float((inside * outside).sum()) / (n * m)
    spread = (_variance(higher, inside) / n + _variance(lower, outside) / m) ** 0.5
    delta, error = 2 * area - 1, 2 * spread
    if error == 0 and abs(delta) == 1:
        limit = 2 * ((1 - COVERAGE) / 2) ** (1 / min(n, m)) - 1
        low, high = (limit, 1.0) if delta > 0 else (-1.0, -limit)
    else:
        wide = (QUANTILE * error) ** 2
        half = QUANTILE * error * np.sqrt((1 - delta**2) ** 2 + wide)
        scale = 1 - delta**2 + wide
        low, high = ((delta - delta**3 + sign * half) / scale for sign in (-1, 1))
    parts = area - ties / 2, 1 - area - ties / 2
    return Effect("Cliff's delta", delta, parts, error, max(float(low), -1.0), min(float(high), 1.0))


def _variance(values: Real, counts: Index) -> float:
    """Unbiased variance of values that occur `counts` times; 0 for a single one."""
    n = int(counts.sum())
    middle = float((counts * values).sum()) / n
    return float((counts * np.square(values - middle)).sum()) / max(n - 1, 1)


def share_difference(inside: int, n: int, outside: int, m: int) -> Effect:
    """Difference of two shares, p - q = inside/n - outside/m, with Newcombe's interval (1998, his method 10).

    Its limits combine the Wilson limits (l, u) of each: p - q - sqrt((p - l_p)² + (u_q - q)²), and likewise above.
    """
    p, q = inside / n, outside / m
    (p_low, p_high), (q_low, q_high) = wilson(inside, n), wilson(outside, m)
    error = (p * (1 - p) / n + q * (1 - q) / m) ** 0.5
    low = p - q - float(np.hypot(p - p_low, q_high - q))
    high = p - q + float(np.hypot(p_high - p, q - q_low))
    return Effect("difference in share", p - q, (p, q), error, low, high)


def wilson(successes: int, n: int) -> tuple[float, float]:
    """Wilson's interval of a share."""
    share, z2 = successes / n, QUANTILE**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = QUANTILE / (1 + z2 / n) * (share * (1 - share) / n + z2 / (4 * n * n)) ** 0.5
    return max(middle - half, 0.0), min(middle + half, 1.0)


def largest_gap(inside: Index, outside: Index) -> tuple[float, int]:
    """max_t |F_in(t) - F_out(t)|, Kolmogorov and Smirnov's distance, and the position of the value t."""
    gaps = np.abs(np.cumsum(inside) / inside.sum() - np.cumsum(outside) / outside.sum())
    at = int(gaps[:-1].argmax()) if len(gaps) > 1 else 0
    return (float(gaps[at]) if len(gaps) > 1 else 0.0), at


def gap_p_value(gap: float, n: int, m: int) -> float:
    """Asymptotic p-value of Kolmogorov and Smirnov's test for two samples; conservative if there are ties."""
    return float(kolmogorov(gap * np.sqrt(n * m / (n + m))))


def chi_square(counts: Index) -> tuple[float, float]:
    """Cramér's V² of a table of counts, and the p-value of Pearson's test of independence; NaN if nothing can differ.

    V² = X² / (n min(rows - 1, columns - 1)), without empty rows and columns; for two columns the eta² of one of them
    as 0/1.
    """
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    degrees, least = (counts.shape[0] - 1) * (counts.shape[1] - 1), min(counts.shape) - 1
    if least < 1:
        return 0.0, np.nan
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / int(counts.sum())
    statistic = float((np.square(counts - expected) / expected).sum())
    return statistic / (int(counts.sum()) * least), float(chdtrc(degrees, statistic))


def between_groups(table: Real, labels: Labels) -> tuple[Real, Real]:
    """eta² of each column, and the p-value of Kruskal and Wallis's rank test that the groups do not differ.

    eta² = sum_k n_k (m_k - m)² / sum_i (x_i - m)² is the share of the variance that is between the groups, 0 for a
    constant column. H = (n - 1) eta² of the ranks, which corrects for ties; the p-value is NaN if nothing can differ.
    `table` is N x P, NaN if missing; `labels` are from 0.
    """
    n, width = len(labels), int(labels.max(initial=-1)) + 1
    groups = csr_array((np.ones(n), (labels, np.arange(n))), shape=(width, n))
    counts = groups @ (~np.isnan(table)).astype(float)
    share, varies = _eta_squared(table, groups, counts)[0], np.zeros(table.shape[1], bool)
    p_values = np.full(table.shape[1], np.nan)
    degrees, n_values = np.count_nonzero(counts, axis=0) - 1, counts.sum(axis=0)
    if n:
        ranked, varies = _eta_squared(rankdata(table, axis=0, nan_policy="omit"), groups, counts)
        tested = varies & (degrees > 0)
        p_values[tested] = chdtrc(degrees[tested], (n_values[tested] - 1) * ranked[tested])
    return np.where(varies, share, 0.0), p_values


def _eta_squared(table: Real, groups: csr_array, counts: Real) -> tuple[Real, Mask]:
    """eta² of each column, and whether it varies; `groups` is K x N with ones, `counts` are those of the values."""
    seen = ~np.isnan(table)
    away = np.where(seen, table, 0.0)
    away = np.where(seen, away - away.sum(axis=0) / np.maximum(counts.sum(axis=0), 1), 0.0)
    largest = np.abs(away).max(axis=0, initial=0.0)
    away /= np.where(largest > 0, largest, 1.0)  # so that squares neither overflow nor vanish
    between = (np.square(groups @ away) / np.maximum(counts, 1)).sum(axis=0)
    return between / np.maximum(np.square(away).sum(axis=0), 1e-300), largest > 0


def holm(p_values: Real) -> Real:
    """Holm's correction, which bounds the probability of any false positive by the level. NaNs are ignored."""
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    factors = len(order) - np.arange(len(order))
    corrected = np.full(len(p_values), np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return corrected


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


def contrasts_of(found: Findings) -> Contrasts:
    """Compare every cluster with all other rows (other clusters and outliers), in each column of the table."""
    n = len(found.labels)
    rows: Any = slice(None) if n <= MOST_ROWS else np.sort(np.random.default_rng(0).choice(n, MOST_ROWS, replace=False))
    columns, labels = [column.placed().taken(rows) for column in found.columns], found.labels[rows]
    shares, p_values = importances_of(columns, labels)
    corrected = holm(p_values)
    least, centers = 1 if found.rows else LEAST_VALUES, found.shown(found.centers)
    listed, raw = [], []
    for at, j in enumerate(np.argsort(-shares, kind="stable").tolist()):
        column, compared = columns[j], at < MOST_COLUMNS
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
        shares[j], p_values[j] = chi_square(counts)
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
    return effect, level, float(np.abs(away).sum() / 2), np.nan, chi_square(counts)[1]


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
