"""The distributions of a column inside and outside a cluster, from counts of its distinct values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fusewise.kernels import Index, Mask, Real
from fusewise.views.findings.column_bins import ColumnBins
from fusewise.views.findings.table_columns import TableColumn


@dataclass(frozen=True)
class Side:
    """The values of a column inside a cluster, or outside it.

    Attributes
    ----------
    n, missing : number of observed values, and share of missing ones.
    counts : number of values in each bin or level.
    median, mean : of numbers and of the positions of ordered levels; NaN otherwise.
    low, high : quantiles at 10% and 90%.
    within : share of the values between those two quantiles of the cluster.
    """

    n: int
    missing: float
    counts: tuple[int, ...]
    median: float = np.nan
    mean: float = np.nan
    low: float = np.nan
    high: float = np.nan
    within: float = np.nan

    @property
    def shares(self) -> tuple[float, ...]:
        """The counts as shares of the observed values."""
        return tuple(count / max(self.n, 1) for count in self.counts)


@dataclass(frozen=True, eq=False)
class CountedValues:
    """The distinct values of a column in increasing order: one sort serves every cluster.

    Attributes
    ----------
    column : the column.
    distinct : its distinct values.
    places : position of each observed value in `distinct`.
    bins : bin or level of each distinct value, and their number.
    """

    column: TableColumn
    distinct: Real
    places: Index
    bins: tuple[Index, int]

    @classmethod
    def of(cls, column: TableColumn, bins: ColumnBins) -> CountedValues:
        """Sort a column."""
        distinct, places = np.unique(column.values[column.seen], return_inverse=True)
        return cls(column, distinct, places, (bins.places_of(distinct), bins.n_bins))

    def split(self, member: Mask) -> Index:
        """2 x distinct values: how often each occurs inside and outside a cluster."""
        inside = np.bincount(self.places[member[self.column.seen]], minlength=len(self.distinct))
        return np.stack([inside, np.bincount(self.places, minlength=len(self.distinct)) - inside])

    def side(self, counts: Index, n_rows: int) -> Side:
        """Describe one side."""
        n = int(counts.sum())
        missing = 1 - n / n_rows if n_rows else 0.0
        binned = np.bincount(self.bins[0], counts, self.bins[1]).astype(int)
        if not self.column.scaled or not n:
            return Side(n, missing, tuple(binned.tolist()))
        low, median, high = self.quantiles(counts, [0.1, 0.5, 0.9])
        mean = float((counts * self.distinct).sum()) / n
        return Side(n, missing, tuple(binned.tolist()), median, mean, low, high)

    def quantiles(self, counts: Index, shares: list[float]) -> list[float]:
        """Quantiles with linear interpolation, as ``numpy.quantile``."""
        upto = np.cumsum(counts)
        at = np.array(shares) * (upto[-1] - 1)
        below, above = (self.distinct[np.searchsorted(upto, part(at), "right")] for part in (np.floor, np.ceil))
        return [float(value) for value in below + (at - np.floor(at)) * (above - below)]

    def within(self, side: Side, counts: Index, here: Side) -> Side:
        """The side with the share of its values in the inner 80% of the cluster; NaN for categories."""
        if not side.n or np.isnan(here.low):
            return side
        return replace(
            side, within=int(counts[(self.distinct >= here.low) & (self.distinct <= here.high)].sum()) / side.n
        )
