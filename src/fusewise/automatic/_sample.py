"""Which rows of a table are searched: all, in an order of their own, or a sample, which grows while more may show more.

Rows that are copies of each other are no evidence of a cluster, and count as less than one row each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from fusewise.automatic._choice import Classifier
from fusewise.automatic._clusters import Clusters
from fusewise.automatic._comparison import Searched
from fusewise.automatic._cuts import FEWEST, MOST_CLUSTERS
from fusewise.automatic._hints import NO_HINTS, Hints
from fusewise.automatic._intervals import sites_along_axes
from fusewise.automatic._rare import RareSearch, Surprises, surprises
from fusewise.automatic._rows import SMALLEST_SHARE
from fusewise.automatic._search import RANK, TreeSearch, cut_anywhere, explains_more
from fusewise.automatic._units import SAME, Levels, Units, is_number, row_keys
from fusewise.kernels import Index, Mask, Real, Values
from fusewise.observations import BoundedEntries, Entries, InMemory, Table
from fusewise.progress import Progress
from fusewise.support import counted, in_series

#: Of fewer different values each may be a group of its own, as answers are; and with fewer different rows the copies
#: are what there is to see.
FEW = 20


def canonical(table: Entries, numbers: Mask) -> tuple[Entries, Index]:
    """The rows in an order of their own, with nearly equal values made equal; and which row of the table each is.

    Values of a column that follow each other within `SAME` standard deviations are one value, rounded to a multiple of
    it. So nothing that is found depends on the order of the rows, on the units of the columns, or on last digits. The
    `numbers` are in units of their standard deviations; the levels of categories are left as they are.
    """
    values = np.where(table.mask, table.values, 0.0)
    for j in np.flatnonzero(numbers):
        seen = table.mask[:, j]
        column = table.values[seen, j]
        order = np.argsort(column, kind="stable")
        ordered = column[order]
        first = np.flatnonzero(np.diff(ordered, prepend=-np.inf) > SAME)
        same = np.repeat(ordered[first], np.diff(np.append(first, len(ordered))))
        settled = np.empty(len(column))
        settled[order] = SAME * np.round(same / SAME)
        values[seen, j] = settled
    # The last keys count most: the numbers, so that a coin toss moves no row.
    keys = [each for which in (~numbers, numbers) for each in (*values.T[which], *table.mask.T[which])]
    order = np.lexsort(keys)
    return replace(table, values=values).take(order), np.asarray(order, np.intp)


def step(values: Real) -> float:
    """The step to which different values, in increasing order, were rounded; 0 if they were not.

    Rounded values of which many are equal fill neighbouring places of their grid: many gaps are the smallest one.
    """
    if len(values) < FEW:
        return 0.0
    gaps = np.diff(values)
    smallest = float(gaps.min())
    return smallest if np.mean(gaps <= 1.001 * smallest) >= 0.1 else 0.0


def shares_of_copies(table: InMemory) -> Real | None:
    """1/m for each of m equal rows, so that they add up to the number of different rows; None if all differ.

    Rows are only copies if they have measurements, in which different rows hardly ever agree: answers, categories and
    rounded values of different rows are equal by nature. Of a few rows that are repeated, the copies may well be
    clusters.
    """
    if not isinstance(table, Entries):
        return None
    keys = row_keys(np.where(table.mask, table.values, np.nan))
    _, first, which, copies = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    if len(first) == table.shape[0] or len(first) < FEW:
        return None
    measured = [_is_measured(column) for column in table.take(first).columns()]
    shares = np.where(table.mask[:, measured].any(axis=1), 1 / copies[which], 1.0)
    return shares if shares.min() < 1 else None


def _is_measured(column: Values) -> bool:
    """Whether equal values in a column of different rows would be no chance."""
    values = np.unique(column)
    own = len(column) >= FEW and len(values) >= len(column) / 2
    return own and not step(values.real)


def worth_of_rows(copies: Real | None) -> float:
    """How many different rows a row is worth: Kish's effective number of rows, over their number.

    Of N rows of which n are different, with m_1, ..., m_n copies, the effective number is N² / sum_k m_k².
    """
    return 1.0 if copies is None else float(1 / np.mean(1 / copies))


#: Share of the rows in the smallest cluster, and its fewest rows, where many clusters are compared: a few equal rows
#: are no cluster.
SMALLEST_OF_MANY, FEWEST_ROWS = 0.005, 4.0
#: Rows of a larger table that are sampled to find the clusters: the smallest cluster has 75 rows among them.
SAMPLE = 5_000
#: The sample grows by this factor, up to so many rows.
GROWTH, LARGEST_SAMPLE = 4, 80_000
#: Axes and independent columns are fitted to more rows than that if a typical column would have fewer entries than
#: this, but not to more than fill so many numbers.
ENTRIES_PER_COLUMN, MOST_NUMBERS = 300, 50_000_000


@dataclass(frozen=True, eq=False, kw_only=True)
class SampledSearch:
    """Searches for clusters in samples of a table.

    Attributes
    ----------
    table : rows without observed entries are left out.
    units : those in which rows are searched.
    levels : the blocks of columns that hold the levels of a category.
    hints : what is known of the rows of the table.
    min_size : smallest cluster considered, in rows of the table; None: a share of them.
    seed : seed of the samples.
    worth : rows of a larger table that a row is worth.
    n_clusters, progress : those of ``TreeSearch``.
    first : the rows that columns of the first sample are fitted to (``samples``), as they are in the table.
    """

    table: Table
    units: Units
    levels: Levels
    hints: Hints
    min_size: float | None
    seed: int
    n_clusters: int | None
    worth: float
    progress: Progress
    first: InMemory

    def of(self, size: int | None = None) -> tuple[Index, TreeSearch]:
        """A sample of so many rows (or all), numbered among those seen, and the search for clusters in it."""
        size = size or SAMPLE
        n, hints = self.table.n_seen, among_seen(self.table, self.hints)
        rows, many = samples(self.table, size, self.seed, hints)
        wide = self.units.scaled(self.first if size == SAMPLE else self.table.take_seen(many))
        bounded = isinstance(wide, BoundedEntries)
        if isinstance(wide, BoundedEntries):
            symmetric = self.units.made_symmetric(wide)
            assert isinstance(symmetric, BoundedEntries)
            wide = sites_along_axes(symmetric, min(RANK, *wide.shape))
        among = None if len(many) == len(rows) else np.searchsorted(many, rows)
        if among is None and isinstance(wide, Entries) and wide.dtype.kind == "f" and not hints:
            wide, order = canonical(wide, is_number(wide.shape[1], self.levels))
            rows = many = rows[order]
        copies = shares_of_copies(wide if among is None else wide.take(among))
        wide = wide if bounded else self.units.made_symmetric(wide)
        sample = wide if among is None else wide.take(among)
        smallest = smallest_clusters(len(rows), n, self.min_size)
        return rows, TreeSearch(
            wide, sample, self.levels, *smallest, self.n_clusters, self.progress,
            self.worth * worth_of_rows(copies), hints.among(rows), hints.among(many), copies,
            fewest=FEWEST if self.min_size is None else smallest[1],
        )  # fmt: skip

    def enlarged(self, rows: Index, search: TreeSearch, found: Searched) -> tuple[Index, TreeSearch, Searched]:
        """The sample, the search and what it found, in a larger sample if that has more clusters, and more than few."""
        size = SAMPLE
        while found.unsettled and size < min(self.table.n_seen, LARGEST_SAMPLE):
            size *= GROWTH
            more, wider = self.of(size)
            if search.columns is not None and (some := wider.among_numbers()) is not None:
                more, wider = more[some[0]], some[1]
            larger = cut_anywhere(wider)
            enough = max(MOST_CLUSTERS, found.best.n_groups)
            if larger.best.n_groups <= enough or not explains_more(wider, larger, found):
                break
            rows, search, found = more, wider, larger
        return rows, search, found

    def with_rare(self, clusters: Clusters, n_sampled: int, *, unsettled: bool) -> tuple[Clusters, tuple[str, ...]]:
        """The clusters, in a large table with rare ones among the rows that none explains; and the limits met."""
        limits, n = [], self.table.n_seen
        if self.units.powers is not None:
            limits.append(
                "Columns are skewed, and powers of them explain the table better. So clusters were searched for in "
                "columns made symmetric (by a power of each); their centres are nearer to medians than to means."
            )
        if n <= SAMPLE or self.n_clusters is not None or self.hints:
            return clusters, tuple(limits)
        smallest = smallest_clusters(n_sampled, n, self.min_size)[0] * n / n_sampled
        self.progress(f"looking for rare clusters in {counted(n, 'row')}", 0)
        rows = None
        if not self.levels and self.table.dtype.kind != "c" and self.units.weights is None:
            known = self.table.reduce(partial(surprises, clusters, self.units, self.seed), Surprises.merged).in_order(n)
            rows = Classifier(self.units, clusters).placed(self.table.take(known.row))
        refused: list[float] = []
        if isinstance(rows, Entries):
            clusters, refused = RareSearch(clusters, rows, known, n, self.min_size or 0.0)()
        if unsettled:
            limits.append(
                f"Clusters were searched for in {n_sampled:,} of {counted(n, 'row')}, the largest sample that is used: "
                f"there may be more than {counted(clusters.n_components, 'cluster')}."
            )
        if not isinstance(rows, Entries):
            what = "has categories" if self.levels else "is sparse" if rows is not None else "is complex"
            what = what if self.units.weights is None else "has columns with weights"
            limits.append(
                f"Clusters of fewer than about {smallest:,.0f} of {counted(n, 'row')} were not looked for: rare "
                f"clusters are found in tables of numbers only, and this one {what}."
            )
        elif known.n_outlying > len(known.row):
            limits.append(
                f"Of {counted(known.n_outlying, 'row')} far from every cluster, a sample of {len(known.row):,} was "
                "searched for rare clusters: the smallest may be missing."
            )
        if refused:
            groups = counted(len(refused), "rare group was", "rare groups were")
            about = in_series([f"{size:,.0f}" for size in refused])
            limits.append(f"{groups} left out, of about {about} rows: min_cluster_size is {self.min_size:,.0f}.")
        return clusters, tuple(limits)


def first_rows(table: Table, seed: int, hints: Hints) -> InMemory:
    """The rows that columns of the first sample are fitted to, as they are in the table."""
    return table.take_seen(samples(table, SAMPLE, seed, among_seen(table, hints))[1])


def among_seen(table: Table, hints: Hints) -> Hints:
    """The hints on the rows with observed entries."""
    return hints.among(np.flatnonzero(table.row_counts > 0)) if hints else NO_HINTS


def smallest_clusters(n_sampled: int, n: int, min_size: float | None) -> tuple[float, float]:
    """Rows of the smallest cluster in a sample of n rows, among few clusters and among many."""
    if min_size is not None:
        return (max(min_size * n_sampled / n, 1.0),) * 2
    return max(3.0, SMALLEST_SHARE * n_sampled), max(FEWEST_ROWS, SMALLEST_OF_MANY * min(n_sampled, SAMPLE))


def samples(table: Table, size: int, seed: int, hints: Hints = NO_HINTS) -> tuple[Index, Index]:
    """Sample the rows to search for clusters, and the rows to fit columns to: the same, or a superset of them.

    Both are numbered among the rows with observed entries. Rows with hints are in both, up to half of `size` of them
    beside the others.
    """
    n, row_length, random = table.n_seen, table.n_stored / table.shape[0], np.random.default_rng(seed)
    if n <= size:
        return np.arange(n), np.arange(n)
    rows = np.sort(random.choice(n, size, replace=False))
    if hints:
        rows = np.union1d(rows, hints.sample(size // 2, random))
    counts = table.column_counts
    typical = max(float(np.median(counts[counts > 0])), 1.0)
    wanted = int(min(n * min(ENTRIES_PER_COLUMN / typical, 1.0), MOST_NUMBERS / row_length))
    if wanted <= size:
        return rows, rows
    return rows, np.union1d(rows, np.random.default_rng([seed, 1]).choice(n, wanted, replace=False))
