"""Clusters by feature and column: what was observed in them, effect sizes, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.stats import rankdata

from fusewise.kernels import Index, Labels, Real
from fusewise.views._columns import TableColumn
from fusewise.views._contrasts import LEAST_VALUES, LEVEL, chi_square, enough, holm

if TYPE_CHECKING:
    from fusewise.views._findings import Findings


@dataclass(frozen=True, eq=False)
class ObservedCenters:
    """Mean and median of the observed values of each cluster and feature, K x P; NaN if there are none."""

    means: npt.NDArray[np.float64]
    medians: npt.NDArray[np.float64]

    @classmethod
    def of(cls, values: Real, labels: Labels, n_clusters: int) -> ObservedCenters:
        """Of N x P values, NaN if missing, and the cluster of each row."""
        means, medians = np.full((2, n_clusters, values.shape[1]), np.nan)
        for k in range(n_clusters):
            ordered = np.sort(values[labels == k], axis=0)  # missing values come last
            counts = np.count_nonzero(~np.isnan(ordered), axis=0)
            seen = np.flatnonzero(counts)
            n = counts[seen]
            means[k, seen] = np.nansum(ordered[:, seen], axis=0) / n
            medians[k, seen] = (ordered[(n - 1) // 2, seen] + ordered[n // 2, seen]) / 2
        return cls(means, medians)


#: Maximum number of features in a heat map.
MOST_FEATURES = 30
#: Of a category with many levels, so many are drawn.
MAIN_LEVELS = 5
#: Columns with a cell below this expected count are not tested: the chi-square approximation fails (Cochran's rule).
LEAST_EXPECTED = 1.0
#: Maximum height and width of the map of missing values; larger tables are averaged in blocks.
MOST_BANDS, MOST_COLUMNS = 500, 200


@dataclass(frozen=True, eq=False)
class Profile:
    """Each cluster against the other rows, in the columns that differ most: numbers, ordered levels, and levels.

    The effects are those that the descriptions are made of. Similar ones of the Q are side by side.
    """

    names: tuple[str, ...]  # Q, of a column, or "column=level"
    values: Real  # N x Q, numbers in the user's units, positions of ordered levels, or 1 where a row has the level
    # K x Q, Cliff's delta: the probability that a row of the cluster has the larger value minus the probability that it
    # has the smaller one; for a level of a category the difference in its share. NaN if the cluster or the other rows
    # have too few observed values
    effects: Real
    telling: Real  # Q, importance of the column, eta² or Cramér's V² (0: it says nothing, 1: everything)
    n_columns: int  # how many columns these are


def profile_of(found: Findings, most: int = MOST_FEATURES) -> Profile:
    """Compute the profiles of the clusters in about `most` columns and levels, at least one column."""
    names: list[str] = []
    values, telling, n_columns = [], [], 0
    for about in found.contrasts.columns:
        each = _drawn(found.columns[about.position], 1 if found.rows else LEAST_VALUES)
        if n_columns and len(names) + len(each) > most:
            break
        names += [name for name, _ in each]
        values += [value for _, value in each]
        telling += len(each) * [about.importance]
        n_columns += 1
    table = np.column_stack(values) if values else np.zeros((len(found.labels), 0))
    effects = _effects(table, found.labels, found.n_clusters)
    order = np.arange(len(names))
    if len(effects) and len(names) > 2:
        order = leaves_list(linkage(np.nan_to_num(effects).T, "average", optimal_ordering=True)).astype(np.intp)
    return Profile(
        tuple(names[j] for j in order), table[:, order], effects[:, order], np.array(telling)[order], n_columns
    )


def _drawn(column: TableColumn, least: int) -> list[tuple[str, Real]]:
    """Name and values of a column; of a category its most frequent levels, of two the second."""
    values = column.placed().values
    if column.scaled:
        return [(column.name, values)]
    counts = np.bincount(values[column.seen].astype(np.intp), minlength=len(column.levels))
    main = np.sort(np.argsort(-counts, kind="stable")[:MAIN_LEVELS]) if len(counts) != 2 else np.array([1])
    return [
        (f"{column.name}={column.levels[k]}", np.where(column.seen, values == k, np.nan))
        for k in main
        if counts[k] >= least
    ]


def _effects(values: Real, labels: Labels, n_clusters: int) -> Real:
    """Cliff's delta of each cluster and feature, from the sums of ranks of Mann and Whitney's test."""
    ranks = rankdata(values, axis=0, nan_policy="omit")
    seen = ~np.isnan(values)
    member = (labels == np.arange(n_clusters)[:, None]).astype(float)
    n, sums = member @ seen, member @ np.where(seen, ranks, 0.0)
    others = seen.sum(axis=0) - n
    rows = member.sum(axis=1)[:, None]
    usable = enough(n, rows) & enough(others, len(labels) - rows)
    with np.errstate(invalid="ignore", divide="ignore"):
        delta = (2 * sums - n * (n + 1)) / (n * others) - 1
    return np.where(usable, delta, np.nan)


@dataclass(frozen=True, eq=False)
class Missingness:
    """Missing values of a table by cluster, and a test of each column."""

    names: tuple[str, ...]  # names of the P columns of the user's table
    rates: Real  # K x P, fraction of missing values in each cluster
    # P, of Pearson's chi-square test that the column is missing equally often in all clusters, with Holm's correction;
    # NaN if not tested (nothing missing, nothing observed, one cluster, too few rows)
    p_values: Real
    bands: Real  # B x Q, fraction observed in each block of the map; rows sorted by cluster, outliers last
    cluster: Index  # B, cluster of each band (-1: outliers and rows with nothing observed)
    rows: Index  # B + 1, index of the first sorted row of each band
    columns: Index  # Q + 1, index of the first column of each block

    @property
    def differing(self) -> Index:
        """Columns whose missingness depends on the cluster, clearest first."""
        found = np.flatnonzero(self.p_values < LEVEL)
        return found[np.argsort(self.p_values[found], kind="stable")]


def compare_missingness(found: Findings, most_bands: int = MOST_BANDS, most_columns: int = MOST_COLUMNS) -> Missingness:
    """Compare the missing values of the clusters."""
    seen, labels = found.seen, found.labels
    member = (labels == np.arange(found.n_clusters)[:, None]).astype(float)
    totals = member.sum(axis=1)
    missing = totals[:, None] - member @ seen
    rates = missing / np.maximum(totals, 1)[:, None]
    columns = np.linspace(0, seen.shape[1], min(most_columns, seen.shape[1]) + 1).astype(np.intp)
    # Within a cluster, rows with fewer missing values come first; outliers come after all clusters.
    order = np.lexsort((~seen.any(axis=1), -seen.sum(axis=1), np.where(labels < 0, found.n_clusters, labels)))
    cluster, rows = _bands(labels[order], most_bands)
    blocks = np.add.reduceat(np.add.reduceat(seen[order].astype(float), rows[:-1], axis=0), columns[:-1], axis=1)
    bands = blocks / (np.diff(rows)[:, None] * np.diff(columns))
    names = tuple(column.name for column in found.columns)
    p_values = np.array([_p_value(each, totals) for each in missing.T])
    return Missingness(names, rates, holm(p_values), bands, cluster, rows, columns)


def _p_value(missing: Real, totals: Real) -> float:
    """p-value of Pearson's chi-square test over clusters x {missing, observed}; NaN if too few are expected."""
    counts = np.stack([missing, totals - missing]).astype(np.intp)
    expected = np.outer(counts.sum(axis=1), totals) / max(float(totals.sum()), 1.0)
    usable = len(totals) > 1 and (expected >= LEAST_EXPECTED).all()
    return chi_square(counts)[1] if usable else np.nan


def _bands(labels: Index, most: int) -> tuple[Index, Index]:
    """Group consecutive rows into bands of one cluster each; return the cluster and the first row of each band."""
    edges = np.flatnonzero(np.diff(labels)) + 1
    height = max(1, int(np.ceil(len(labels) / most)))
    starts = [np.arange(begin, end, height) for begin, end in zip([0, *edges], [*edges, len(labels)], strict=True)]
    rows = np.append(np.concatenate(starts), len(labels)).astype(np.intp)
    return labels[rows[:-1]], rows
