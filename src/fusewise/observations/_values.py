"""Values and labels of rows: the range and grid of each column, its resolution, and groups numbered by size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Labels, Mask, Real, Values
from fusewise.observations._entries import InMemory, Table
from fusewise.support import NumberArray, Record


def number_by_size(groups: npt.NDArray[Any], min_size: int = 1) -> Labels:
    """Number the groups 0, 1, ... by decreasing size (ties in order of appearance); -1 for groups below `min_size`."""
    kinds, first, members, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    names = np.empty(len(kinds), np.intp)
    names[np.lexsort((first, -sizes))] = np.arange(len(kinds))
    names[sizes < min_size] = -1
    return names[members]


def group_means(table: Values, labels: Labels) -> Values:
    """Mean row of each group 0, 1, ...; an empty array if there are no groups."""
    n_groups = int(labels.max(initial=-1)) + 1
    kept = labels >= 0
    sums = np.zeros((n_groups, table.shape[1]), dtype=table.dtype)
    np.add.at(sums, labels[kept], table[kept])
    return sums / np.bincount(labels[kept], minlength=n_groups)[:, None]


#: The steps of tables that are in use: every fit of clusters asks for them.
_known: WeakKeyDictionary[InMemory, Real] = WeakKeyDictionary()


def steps(table: InMemory) -> Real:
    """Step of each real column: the median gap between neighbouring distinct values (0 if there is one value)."""
    if table not in _known:
        _known[table] = np.array([_step(np.unique(column)) for column in table.columns()])
    return _known[table]


def blur(table: InMemory) -> Real:
    """(d/2)²: the variance at which the steps d of a column blur into a smooth density.

    Two equal Gaussians a distance d apart have a single mode if their standard deviation is at least d/2. With less,
    every value of a yes/no column, and every combination of such columns, would look like a cluster of its own. A
    column without repeated values has no steps, however few its values are: (d/2)² is scaled by the share of repeats.
    """
    found = np.zeros(table.shape[1])
    for j, column in enumerate(table.columns()):
        levels = np.unique(column)
        found[j] = np.square(_step(levels) / 2) * (1 - len(levels) / max(len(column), 1))
    return found


def _step(levels: Real) -> float:
    return float(np.median(np.diff(levels))) if len(levels) > 1 else 0.0


#: Two values make a grid only if they are repeated: with at least this many entries.
ENTRIES_OF_TWO = 4
#: Largest number of steps between the extremes of a grid; of one seen in three values alone.
MOST_STEPS, MOST_OF_THREE = 100_000, 1_000
#: Units in the last place within which values are equal, and the smallest step as a multiple of that.
ROUNDING, CLEAR = 16, 100
#: Entries of a column that are looked at first: if they have no grid, the column has none, and is not sorted.
FIRST = 1000


@dataclass(frozen=True, eq=False)
class ValueRanges(Record):
    """Smallest and largest observed value of each real column, and its step d: values are low, low + d, ..., high.

    The columns of a complex table are its real parts, then its imaginary parts.
    """

    # low, high: -inf and inf for a column without observed entries
    low: Real
    high: Real
    step: Real  # 0 for a column without a grid
    closed: Mask  # whether every value of the grid was observed, as of 0/1 and of ratings

    _rules: ClassVar = {
        "low": NumberArray("P", finite=False),
        "high": NumberArray("P", finite=False),
        "step": NumberArray("P", low=0),
        "closed": NumberArray("P", kinds="b"),
    }

    @classmethod
    def of(cls, table: Table) -> ValueRanges:
        """Find the ranges and the grids of a table.

        A column has a grid if all of its values differ by multiples of a step: a step so large that this is no
        accident of rounding, and seen in at least three different values, or in two that are repeated.
        """
        columns = table.reduce(_columns_of, _merged)
        low, high = np.array([(c.low, c.high) if c.n_entries else (-np.inf, np.inf) for c in columns]).T
        return cls(low, high, np.array([c.step for c in columns]), np.array([c.closed for c in columns]))

    def without_grid(self, *spans: tuple[int, int]) -> ValueRanges:
        """The same ranges; columns start to stop of each span have no grid."""
        grid = np.ones(len(self.step), bool)
        for start, stop in spans:
            grid[start:stop] = False
        return ValueRanges(self.low, self.high, np.where(grid, self.step, 0), self.closed & grid)

    def confined(self, values: Values) -> Values:
        """The nearest value of the grid, or in the range, to each of the values (N x P, real or complex)."""
        ends = self.low, self.high
        return _by_parts(values, lambda parts: np.clip(self._on_grid(np.clip(parts, *ends)), *ends))

    def possible(self, values: Values) -> Values:
        """The same for random draws, which may be beyond the range: clipping them would make them too alike.

        They keep the sign of a column that has one, and are within the range if the grid is closed. Those beyond are
        reflected, so that they do not pile up at the end.
        """
        low = np.where(self.closed, self.low - self.step / 2, np.where(self.low >= 0, 0, -np.inf))
        high = np.where(self.closed, self.high + self.step / 2, np.where(self.high <= 0, 0, np.inf))
        ends = np.where(self.closed, self.low, low), np.where(self.closed, self.high, high)

        def inside(parts: Real) -> Real:
            parts = np.where(parts < low, 2 * low - parts, np.where(parts > high, 2 * high - parts, parts))
            return np.asarray(np.clip(self._on_grid(np.clip(parts, *ends)), *ends))

        with np.errstate(invalid="ignore"):  # 2 * inf - x where nothing is reflected
            return _by_parts(values, inside)

    def _on_grid(self, values: Real) -> Real:
        """The nearest values of the grids; others are unchanged."""
        found = values.astype(float)
        for j in np.flatnonzero(self.step):
            low, step = self.low[j], self.step[j]
            digits = 12 - int(np.ceil(np.log10(max(abs(low), abs(self.high[j])))))  # 0.3, not 0.30000000000000004
            found[:, j] = np.round(low + step * np.rint((found[:, j] - low) / step), digits)
        return found


def _by_parts(values: Values, change: Callable[[Real], Real]) -> Values:
    """Change the real columns of a table, those of a complex one side by side; the dtype stays."""
    if not np.iscomplexobj(values):
        return np.asarray(change(values), values.dtype)
    both, p = change(np.hstack([values.real, values.imag])), values.shape[1]
    return np.asarray(both[:, :p] + 1j * both[:, p:], values.dtype)


def _columns_of(rows: InMemory, begin: int) -> list[_Column]:
    return [_Column(entries) for entries in rows.real().columns()]


def _merged(columns: list[_Column], later: list[_Column]) -> list[_Column]:
    for one, other in zip(columns, later, strict=True):
        one.merge(other)
    return columns


class _Column:
    """What has been seen of a column: its extremes, and its different values while they may lie on a grid."""

    def __init__(self, entries: Values) -> None:
        self.low, self.high = float(entries.min(initial=np.inf)), float(entries.max(initial=-np.inf))
        self.n_entries, self.precision = len(entries), ROUNDING * float(np.finfo(entries.dtype).eps)
        self.levels: Real | None = np.zeros(0)
        for some in (entries[:FIRST], entries[FIRST:]):
            self._add_levels(some)

    def merge(self, later: _Column) -> None:
        """Look at what was seen of the column in other rows."""
        self.low, self.high = min(self.low, later.low), max(self.high, later.high)
        self.n_entries += later.n_entries
        self._add_levels(later.levels)

    def _add_levels(self, values: Real | None) -> None:
        if self.levels is None or values is None:
            self.levels = None
            return
        self.levels = np.union1d(self.levels, values.astype(float))
        if len(self.levels) > 3 and not self._common_step():  # of three or fewer, further ones decide
            self.levels = None

    @property
    def step(self) -> float:
        """The step of the grid; 0 if there is none."""
        if self.levels is None or len(self.levels) < 2:
            return 0.0
        return self._common_step() if len(self.levels) > 2 or self.n_entries >= ENTRIES_OF_TWO else 0.0

    @property
    def closed(self) -> bool:
        """Whether every value of the grid was seen."""
        step = self.step
        return step > 0 and self.levels is not None and round((self.high - self.low) / step) + 1 == len(self.levels)

    def _common_step(self) -> float:
        """The largest d of which all differences are multiples, by Euclid's algorithm; 0 if it is not clear."""
        assert self.levels is not None
        rounding = self.precision * max(abs(self.low), abs(self.high))
        width = self.levels[-1] - self.levels[0]
        most = MOST_STEPS if len(self.levels) != 3 else MOST_OF_THREE
        smallest = max(CLEAR * rounding, width / most)
        gaps = np.diff(self.levels)
        while True:
            step = gaps.min()
            if step < smallest:
                return 0.0
            rest = np.remainder(gaps, step)
            rest = np.minimum(rest, step - rest)  # at most half a step: the loop is short
            if (rest <= rounding * (1 + gaps / step)).all():
                return float(width / np.rint(width / step))
            gaps = np.append(rest[rest > rounding * (1 + gaps / step)], step)
