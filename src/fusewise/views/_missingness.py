"""Missing values by cluster, and a test of whether they depend on the cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2

from fusewise.kernels import Index, Real
from fusewise.views._effects import LEVEL, holm

if TYPE_CHECKING:
    from fusewise.views._findings import Findings

#: Columns with a cell below this expected count are not tested: the chi-square approximation fails (Cochran's rule).
LEAST_EXPECTED = 1.0
#: Maximum height and width of the map; larger tables are averaged in blocks.
MOST_BANDS, MOST_COLUMNS = 500, 200


@dataclass(frozen=True, eq=False)
class Missingness:
    """Missing values of a table by cluster, and a test of each column.

    Attributes
    ----------
    names : names of the P columns of the user's table.
    rates : K x P, fraction of missing values in each cluster.
    p_values : P, of Pearson's chi-square test that the column is missing equally often in all clusters, with Holm's
        correction; NaN if not tested (nothing missing, nothing observed, one cluster, too few rows).
    bands : B x Q, fraction observed in each block of the map; rows sorted by cluster, outliers last.
    cluster : B, cluster of each band (-1: outliers and rows with nothing observed).
    rows : B + 1, index of the first sorted row of each band.
    columns : Q + 1, index of the first column of each block.
    """

    names: tuple[str, ...]
    rates: Real
    p_values: Real
    bands: Real
    cluster: Index
    rows: Index
    columns: Index

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
    return Missingness(names, rates, holm(chi_square(missing, totals)), bands, cluster, rows, columns)


def chi_square(missing: Real, totals: Real) -> Real:
    """p-value of X² = sum (count - expected)² / expected over clusters x {missing, observed}, for each column."""
    share = missing.sum(axis=0) / max(float(totals.sum()), 1.0)
    expected = totals[:, None] * np.stack([share, 1 - share])[:, None]
    counts = np.stack([missing, totals[:, None] - missing])
    usable = (expected >= LEAST_EXPECTED).all(axis=(0, 1)) & (len(totals) > 1)
    statistic = (np.square(counts - expected) / np.where(expected > 0, expected, 1.0)).sum(axis=(0, 1))
    return np.where(usable, chi2.sf(statistic, max(len(totals) - 1, 1)), np.nan)


def _bands(labels: Index, most: int) -> tuple[Index, Index]:
    """Group consecutive rows into bands of one cluster each; return the cluster and the first row of each band."""
    edges = np.flatnonzero(np.diff(labels)) + 1
    height = max(1, int(np.ceil(len(labels) / most)))
    starts = [np.arange(begin, end, height) for begin, end in zip([0, *edges], [*edges, len(labels)], strict=True)]
    rows = np.append(np.concatenate(starts), len(labels)).astype(np.intp)
    return labels[rows[:-1]], rows
