"""Effect sizes of two samples and of several groups, with their uncertainty.

Two samples are given as counts of the distinct values in increasing order, so that ties are exact and one sort of a
column serves every cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import chdtrc, kolmogorov, ndtri
from scipy.stats import rankdata

from fusewise.kernels import Index, Labels, Mask, Real
from fusewise.support import PlainRecord

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


def total_variation(inside: Index, outside: Index) -> float:
    """sum |p - q| / 2: the largest difference of the shares of any set of levels."""
    return float(np.abs(inside / inside.sum() - outside / outside.sum()).sum() / 2)


def gap_p_value(gap: float, n: int, m: int) -> float:
    """Asymptotic p-value of Kolmogorov and Smirnov's test for two samples; conservative if there are ties."""
    return float(kolmogorov(gap * np.sqrt(n * m / (n + m))))


def chi_square_p_value(counts: Index) -> float:
    """p-value of Pearson's chi-square test of independence in a table of counts; NaN if nothing can differ."""
    counts, statistic = _chi_square(counts)
    degrees = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    return float(chdtrc(degrees, statistic)) if min(counts.shape) > 1 else np.nan


def cramers_v_squared(counts: Index) -> float:
    """Cramér's V², chi² / (n min(rows - 1, columns - 1)); for two columns the eta² of one of them as 0/1."""
    counts, statistic = _chi_square(counts)
    least = min(counts.shape) - 1
    return statistic / (int(counts.sum()) * least) if least > 0 else 0.0


def _chi_square(counts: Index) -> tuple[Index, float]:
    """The counts without empty rows and columns, and Pearson's X²."""
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(int(counts.sum()), 1)
    return counts, float((np.square(counts - expected) / expected).sum())


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
