"""Effect sizes of two samples and of several groups, with their uncertainty.

Two samples are given as counts of the distinct values in increasing order, so that ties are exact and one sort of a
column serves every cluster.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc, kolmogorov, ndtri

from fusewise.kernels import Index, Labels, Real

#: Probability that an interval contains the effect, and its quantile of the normal distribution.
COVERAGE = 0.95
QUANTILE = float(ndtri((1 + COVERAGE) / 2))

#: Significance level of corrected p-values.
LEVEL = 0.01

DELTA, SHARE = "Cliff's delta", "difference in share"


@dataclass(frozen=True)
class Effect:
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

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self)


def cliffs_delta(inside: Index, outside: Index) -> Effect:
    """Cliff's delta of two samples, d = P(x > y) - P(x < y), with DeLong's standard error.

    The interval is Cliff's (1993), which allows for the skewness near -1 and 1:

        (d - d³ ± z s sqrt((1 - d²)² + z² s²)) / (1 - d² + z² s²).

    Without any overlap s is 0; the limit is then the exact one of n successes out of n for the smaller sample.

    Parameters
    ----------
    inside, outside : counts of each distinct value, in increasing order.
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
    return Effect(DELTA, delta, parts, error, max(float(low), -1.0), min(float(high), 1.0))


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
    return Effect(SHARE, p - q, (p, q), error, low, high)


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


def total_variation(inside: Index, outside: Index) -> float:
    """sum |p - q| / 2: the largest difference of the shares of any set of levels."""
    return float(np.abs(inside / inside.sum() - outside / outside.sum()).sum() / 2)


def gap_p_value(gap: float, n: int, m: int) -> float:
    """Asymptotic p-value of Kolmogorov and Smirnov's test for two samples; conservative if there are ties."""
    return float(kolmogorov(gap * np.sqrt(n * m / (n + m))))


def chi_square_p_value(counts: Index) -> float:
    """p-value of Pearson's chi-square test of independence in a table of counts; NaN if nothing can differ."""
    counts = _without_empty(counts)
    degrees = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    return float(chdtrc(degrees, _chi_square(counts))) if min(counts.shape) > 1 else np.nan


def cramers_v_squared(counts: Index) -> float:
    """Cramér's V², chi² / (n min(rows - 1, columns - 1)); for two columns the eta² of one of them as 0/1."""
    counts = _without_empty(counts)
    least = min(counts.shape) - 1
    return _chi_square(counts) / (int(counts.sum()) * least) if least > 0 else 0.0


def _chi_square(counts: Index) -> float:
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(int(counts.sum()), 1)
    return float((np.square(counts - expected) / expected).sum())


def _without_empty(counts: Index) -> Index:
    return counts[counts.any(axis=1)][:, counts.any(axis=0)]


def between_groups(table: Real, labels: Labels) -> tuple[Real, Real]:
    """eta² of each column, and the p-value of Kruskal and Wallis's rank test that the groups do not differ.

    eta² = sum_k n_k (m_k - m)² / sum_i (x_i - m)² is the share of the variance that is between the groups, 0 for a
    constant column. H = (n - 1) eta² of the ranks, which corrects for ties; the p-value is NaN if nothing can differ.

    Parameters
    ----------
    table : N x P; NaN if missing.
    labels : group of each row, from 0.
    """
    seen = ~np.isnan(table.T)
    column, row = np.nonzero(seen)
    groups = _Groups(column, labels[row], table.shape[1])
    values = table.T[seen]
    counts = np.bincount(column, minlength=table.shape[1])
    share = groups.eta_squared(groups.ranks(values))
    degrees = groups.n_groups - 1
    tested = (degrees > 0) & (share[1] > 0)
    with np.errstate(invalid="ignore"):
        p_values = np.where(tested, chdtrc(np.maximum(degrees, 1), (counts - 1) * share[0]), np.nan)
    return groups.eta_squared(values)[0], p_values


class _Groups:
    """Observed entries of many columns one after another, with the group of each."""

    def __init__(self, column: Index, label: Labels, n_columns: int) -> None:
        self.column, self.n_columns = column, n_columns
        self.width = int(label.max(initial=0)) + 1
        self.cell = column * self.width + label
        self.counts = np.bincount(column, minlength=n_columns)
        self.cell_counts = np.bincount(self.cell, minlength=n_columns * self.width)

    @property
    def n_groups(self) -> Index:
        """Number of groups with an entry in each column."""
        return np.asarray((self.cell_counts > 0).reshape(self.n_columns, self.width).sum(axis=1))

    def ranks(self, values: Real) -> Real:
        """Ranks within each column; tied values share the mean of theirs."""
        order = np.lexsort((values, self.column))
        ordered, column = values[order], self.column[order]
        first = np.ones(len(order), bool)
        first[1:] = (ordered[1:] != ordered[:-1]) | (column[1:] != column[:-1])
        tie = np.cumsum(first) - 1
        place = np.arange(len(order)) - (np.cumsum(self.counts) - self.counts)[column]
        found = np.empty(len(order))
        found[order] = (np.bincount(tie, place) / np.maximum(np.bincount(tie), 1))[tie] if len(order) else 0.0
        return found

    def eta_squared(self, values: Real) -> tuple[Real, Real]:
        """eta² of each column, and its largest distance from the mean."""
        away = values - (np.bincount(self.column, values, self.n_columns) / np.maximum(self.counts, 1))[self.column]
        largest = np.zeros(self.n_columns)
        np.maximum.at(largest, self.column, np.abs(away))
        away = away / np.where(largest > 0, largest, 1.0)[self.column]  # so that squares neither overflow nor vanish
        whole = np.bincount(self.column, np.square(away), self.n_columns)
        sums = np.bincount(self.cell, away, self.n_columns * self.width)
        between = (np.square(sums) / np.maximum(self.cell_counts, 1)).reshape(self.n_columns, self.width).sum(axis=1)
        return np.where(largest > 0, between / np.where(whole > 0, whole, 1.0), 0.0), largest


def holm(p_values: Real) -> Real:
    """Holm's correction, which bounds the probability of any false positive by the level. NaNs are ignored."""
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    factors = len(order) - np.arange(len(order))
    corrected = np.full(len(p_values), np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return corrected
