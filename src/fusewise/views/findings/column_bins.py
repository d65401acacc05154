"""The bins or levels in which the distributions of a column are counted, the same for every cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fusewise.kernels import Index, Real
from fusewise.views.findings.table_columns import TableColumn

#: Maximum number of bins of a number, and of levels of a category (the rarest are counted together).
MOST_BINS, MOST_LEVELS = 24, 12
#: Share of the values beyond the first and the last bin, which count them as well.
BEYOND = 0.005
#: Name of the levels that are counted together.
OTHERS = "(other levels)"


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """Bins of a number, or levels of a category.

    Attributes
    ----------
    edges : limits of the bins, one more than there are; the first and the last bin also count all values beyond.
        Empty for levels.
    levels : names of the levels; empty for numbers.
    places : for each level of the column its position in `levels`.
    """

    edges: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()
    places: tuple[int, ...] = ()

    @property
    def n_bins(self) -> int:
        """Number of bins or levels."""
        return len(self.levels) or len(self.edges) - 1

    def places_of(self, values: Real) -> Index:
        """The bin or level of each observed value."""
        if self.levels:
            return np.array(self.places)[values.astype(np.intp)]
        return np.searchsorted(np.array(self.edges[1:-1]), values, side="right")

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {"edges": list(self.edges), "levels": list(self.levels)}


def bins_of(column: TableColumn) -> ColumnBins:
    """Bins that hold the bulk of a column, one per value if there are few; or its most frequent levels."""
    seen = column.values[column.seen]
    if column.levels:
        return _levels(column, seen)
    if not len(seen):
        return ColumnBins((0.0, 1.0))
    distinct = np.unique(seen)
    if len(distinct) <= MOST_BINS and (column.whole or len(distinct) <= MOST_BINS // 2):
        middles = (distinct[:-1] + distinct[1:]) / 2
        first, last = (middles[0], middles[-1]) if len(middles) else (distinct[0] + 0.5, distinct[0] - 0.5)
        return ColumnBins((float(2 * distinct[0] - first), *middles.tolist(), float(2 * distinct[-1] - last)))
    low, high = np.quantile(seen, [BEYOND, 1 - BEYOND])
    if not low < high:
        low, high = distinct[0], distinct[-1]
    held = seen[(seen >= low) & (seen <= high)]
    number = min(max(len(np.histogram_bin_edges(held, "sturges")) - 1, 8), MOST_BINS)
    if len(held) > 200:
        number = MOST_BINS
    return ColumnBins(tuple(np.linspace(low, high, number + 1).tolist()))


def _levels(column: TableColumn, seen: Real) -> ColumnBins:
    names = tuple(map(str, column.levels))
    most = MOST_BINS if column.kind == "ordered" else MOST_LEVELS
    if len(names) <= most:
        return ColumnBins(levels=names, places=tuple(range(len(names))))
    counts = np.bincount(seen.astype(np.intp), minlength=len(names))
    kept = np.sort(np.argsort(-counts, kind="stable")[: most - 1])
    places = np.full(len(names), most - 1)
    places[kept] = np.arange(len(kept))
    return ColumnBins(levels=(*(names[k] for k in kept), OTHERS), places=tuple(places.tolist()))
