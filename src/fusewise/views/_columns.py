"""The columns of the user's table: their values, how each was read, and the bins in which they are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.stats import entropy

from fusewise.kernels import Index, Mask, Real
from fusewise.support import PlainRecord, counted, readable, some_of
from fusewise.tables import OTHER, Cells, Column, ColumnCode, FrameEncoder, Reading


@dataclass(frozen=True, eq=False)
class HalfKnown:
    """The standard error of each entry of a column, 0 if exact, and bounds of missing ones, infinite if none."""

    error: Real
    lower: Real
    upper: Real


@dataclass(frozen=True, eq=False)
class TableColumn:
    """A column that was used for clustering."""

    # its name, and "number", "category", "ordered" or "flag"
    name: str
    kind: str
    values: Real  # numbers in the user's units, or positions in `levels`; NaN if missing
    levels: tuple[Any, ...] = ()  # levels of a category as they are written in the table; empty for numbers
    features: tuple[int, int] = (0, 1)  # (start, stop) of the features of the model that encode it
    markers: tuple[float, ...] = ()  # numbers that stand for a missing value in the user's table, such as -99
    half: HalfKnown | None = None  # errors of its entries and bounds of missing ones, in the user's units

    @cached_property
    def seen(self) -> Mask:
        """Whether each entry was observed."""
        return ~np.isnan(self.values)

    @cached_property
    def bounded(self) -> Mask:
        """Whether each entry is known only to lie between bounds."""
        if self.half is None:
            return np.zeros(len(self.values), bool)
        return np.isfinite(self.half.lower) | np.isfinite(self.half.upper)

    @cached_property
    def within(self) -> str:
        """Where entries between bounds lie: "below 0.05", "above a limit", "between bounds"; "" if there are none."""
        if self.half is None or not self.bounded.any():
            return ""
        low, high = self.half.lower[self.bounded], self.half.upper[self.bounded]
        for way, ends, others in (("below", high, low), ("above", low, high)):
            if np.isinf(others).all():
                return f"{way} {readable(ends[0])}" if np.allclose(ends, ends[0], atol=0) else f"{way} a limit"
        return "between bounds"

    @property
    def unseen(self) -> str:
        """What the entries without a value are: "missing", "below 0.05", "missing or below a limit"."""
        if not self.within:
            return "missing"
        return self.within if (self.seen | self.bounded).all() else f"missing or {self.within}"

    def placed(self) -> TableColumn:
        """The same column for comparisons, in which entries below or above a limit are at the limit."""
        if self.half is None:
            return self
        low, high = self.half.lower, self.half.upper
        limits = np.where(np.isinf(low), high, np.where(np.isinf(high), low, np.nan))
        return replace(self, values=np.where(np.isfinite(limits), limits, self.values))

    def beyond(self, value: float) -> str:
        """As what a quantile of the placed values is known: "below 0.05", or "" if as itself."""
        if self.half is None:
            return ""
        low, high = self.half.lower[self.bounded], self.half.upper[self.bounded]
        under, over = high[np.isinf(low)], low[np.isinf(high)]
        if len(under) and value <= under.max():
            return f"below {readable(under.max())}"
        return f"above {readable(over.min())}" if len(over) and value >= over.min() else ""

    @property
    def scaled(self) -> bool:
        """Whether values can be compared as larger and smaller: numbers and ordered levels."""
        return self.kind in ("number", "ordered")

    @cached_property
    def whole(self) -> bool:
        """Whether it holds whole numbers only."""
        seen = self.values[self.seen]
        return self.kind == "number" and bool((seen == np.rint(seen)).all())

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest value; NaN if there is none."""
        seen = self.values[self.seen] if self.seen.any() else np.array([np.nan])
        return float(seen.min()), float(seen.max())

    @property
    def pooled(self) -> bool:
        """Whether the last level stands for all rare ones."""
        return self.levels[-1:] == (OTHER,)

    def without_rare(self, least: int) -> TableColumn:
        """The same column with levels of fewer than `least` rows counted as one; of numbers nothing changes."""
        counts = np.bincount(self.values[self.seen].astype(np.intp), minlength=len(self.levels)) if self.levels else 0
        rare = np.asarray(counts) < least
        if not self.levels or not rare.any():
            return self
        kept = np.flatnonzero(~rare)
        places = np.full(len(self.levels), float(len(kept)))
        places[kept] = np.arange(len(kept))
        values = self.values.copy()
        values[self.seen] = places[values[self.seen].astype(np.intp)]
        return replace(self, values=values, levels=(*(self.levels[k] for k in kept), OTHER))

    def taken(self, rows: Any) -> TableColumn:
        """The same column with some of the rows."""
        return replace(self, values=self.values[rows], half=None)


#: Maximum number of levels named in the description of a column.
NAMED_LEVELS = 6


@dataclass(frozen=True)
class ColumnRead(PlainRecord):
    """One column and how it was read."""

    # its name, and its kind ("number", "category", "date", ...)
    name: str
    kind: str
    # "feature" if it was used for clustering, "names" or "labels" if it names or labels the rows, else "left out"
    role: str
    why: str  # how it was read, or why it was left out
    missing: float  # share of its values that are missing
    markers: dict[str, int]  # words that were counted as missing -> how often; "" is an empty cell

    _written: ClassVar = ("used",)

    @property
    def used(self) -> bool:
        """Whether it was used for clustering."""
        return self.role == "feature"


@dataclass(frozen=True, eq=False)
class TableOrigin:
    """The columns of a table: those used for clustering, how all were read, and known classes by name and cells."""

    columns: tuple[TableColumn, ...]
    read: tuple[ColumnRead, ...]  # in the order of the table
    classes: tuple[str, Cells] | None = None

    @classmethod
    def of_file(cls, reading: Reading, encoder: FrameEncoder) -> TableOrigin:
        """The columns of a file, with its own numbers and levels."""
        read, known = tuple(_of_file(reading, column) for column in reading.columns), reading.labels_column
        markers = {each.name: each.markers for each in read}
        columns = []
        for column, where in zip(reading.used, encoder.bounds, strict=True):
            numbers = () if column.categories else _numbers(markers[column.name])
            columns.append(TableColumn(column.name, str(column.kind), column.values, column.categories, where, numbers))
        return cls(tuple(columns), read, None if known is None else (known, reading.cells[known]))

    @classmethod
    def of_model(cls, encoder: FrameEncoder | None, values: Real, names: Sequence[str]) -> TableOrigin:
        """The columns of a frame or an array, all of which were used; `values` and `names` are those of features."""
        if encoder is None:
            columns = [TableColumn(name, "number", values[:, j], features=(j, j + 1)) for j, name in enumerate(names)]
        else:
            blocks = zip(encoder.by_column(values.astype(float)), encoder.bounds, strict=True)
            columns = [_decoded(code, block, where) for (code, block), where in blocks]
        return cls(tuple(columns), tuple(map(_in_memory, columns)))


def _decoded(code: ColumnCode, block: Real, where: tuple[int, int]) -> TableColumn:
    """The column behind its features in the user's units, which are at `where` among all features."""
    if code.kind == "number":
        return TableColumn(code.name, code.kind, block[:, 0], features=where)
    nearest = np.abs(block - np.array(code.places)).argmin(axis=1) if code.places else block.argmax(axis=1)
    positions = np.where(np.isnan(block[:, 0]), np.nan, nearest)
    return TableColumn(code.name, code.kind, positions, code.spelling, where)


def _of_file(reading: Reading, column: Column) -> ColumnRead:
    role = "feature" if column.used else "left out"
    role = {reading.names_column: "names", reading.labels_column: "labels"}.get(column.name, role)
    cells = reading.cells[column.name]
    gone = np.isnan(column.values) if column.used else np.array([cell is None for cell in cells])
    written = reading.written.get(column.name, cells)  # a feature of dates is not in the file
    markers = Counter(_word(written[row]) for row in np.flatnonzero(gone))
    share = float(gone.mean()) if len(gone) else 0.0
    return ColumnRead(column.name, str(column.kind), role, column.why, share, dict(markers.most_common()))


def _word(cell: Any) -> str:
    """A cell that was counted as missing, as it is written; "" if it is empty."""
    return "" if cell is None or (isinstance(cell, float) and np.isnan(cell)) else str(cell)


def _numbers(words: Iterable[str]) -> tuple[float, ...]:
    """The words that are finite numbers."""
    found = []
    for word in words:
        with suppress(ValueError):
            found.append(float(word))
    return tuple(value for value in found if np.isfinite(value))


def _in_memory(column: TableColumn) -> ColumnRead:
    seen = column.values[column.seen]
    gone = len(column.values) - len(seen)
    if not len(seen):
        why = "all values are missing"
    elif column.levels:
        why = f"{counted(len(column.levels), 'value')}: {some_of(column.levels, NAMED_LEVELS)}"
    else:
        why = f"{seen.min():g} to {seen.max():g}"
    why += f"; {gone:,} missing" if gone and len(seen) else ""
    return ColumnRead(column.name, column.kind, "feature", why, gone / max(len(column.values), 1), {})


#: Maximum number of bins of a number, and of levels of a category (the rarest are counted together).
MOST_BINS, MOST_LEVELS = 24, 12
#: Share of the values beyond the first and the last bin, which count them as well.
BEYOND = 0.005
#: Entropy by which bins on a logarithmic scale must tell more, and the quantile of sizes below which it is linear.
MORE_TOLD, SOFT_QUANTILE = 0.4, 0.05
#: Ratio of the gaps between a few values from which they are drawn on a logarithmic scale.
UNEVEN = 10
#: Name of the levels that are counted together.
OTHERS = "(other levels)"


@dataclass(frozen=True, eq=False)
class ColumnBins(PlainRecord):
    """Bins of a number between `edges`, or levels of a category, each level of the column at its place in `levels`.

    The first and the last bin also count all values beyond. Bins are drawn, and equally wide, on the scale
    asinh(value / soft), which is nearly linear up to `soft` and logarithmic beyond; 0 for a linear scale.
    """

    edges: tuple[float, ...] = ()
    soft: float = 0.0
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


def bins_of(column: TableColumn, least: int = 1) -> ColumnBins:
    """Bins that hold the bulk of a column, one per value if there are few; or its most frequent levels.

    A column of which even bins hold more than half in one has bins on a logarithmic scale, if that tells more: if the
    entropy of the counts is larger by `MORE_TOLD`. Bins with fewer than `least` values are joined with the next, and
    their limits are rounded.
    """
    seen = column.values[column.seen]
    if column.levels:
        return _levels(column, seen)
    if not len(seen):
        return ColumnBins((0.0, 1.0))
    distinct = np.unique(seen)
    if len(distinct) <= MOST_BINS and (column.whole or len(distinct) <= MOST_BINS // 2):
        middles = (distinct[:-1] + distinct[1:]) / 2
        first, last = (middles[0], middles[-1]) if len(middles) else (distinct[0] + 0.5, distinct[0] - 0.5)
        edges, soft = np.array([2 * distinct[0] - first, *middles, 2 * distinct[-1] - last]), 0.0
        gaps = np.diff(distinct)
        if len(gaps) and gaps.max() > UNEVEN * gaps.min():  # 2, 5, 20, 999: bins in proportion would not be seen
            soft = float(np.abs(distinct[distinct != 0]).min())
    else:
        edges, soft = _even_bins(seen, distinct)
    return ColumnBins(tuple((edges if least <= 1 else _joined(edges, seen, least)).tolist()), soft)


def _even_bins(seen: Real, distinct: Real) -> tuple[Real, float]:
    """Bins of equal width, on a linear scale or on the one that tells more."""
    low, high = np.quantile(seen, [BEYOND, 1 - BEYOND])
    if not low < high:
        low, high = distinct[0], distinct[-1]
    held = seen[(seen >= low) & (seen <= high)]
    number = MOST_BINS if len(held) > 200 else min(max(len(np.histogram_bin_edges(held, "sturges")) - 1, 8), MOST_BINS)
    edges = np.linspace(low, high, number + 1)
    sizes = np.abs(held[held != 0])
    soft = float(np.quantile(sizes, SOFT_QUANTILE)) if len(sizes) else 0.0
    if not soft:
        return edges, 0.0
    first, last = np.arcsinh([low / soft, high / soft])
    curved = soft * np.sinh(np.linspace(first, last, number + 1))
    even, other = (np.histogram(held, bins)[0] for bins in (edges, np.unique(curved)))
    skewed = 2 * even.max() > len(held) and entropy(other) > entropy(even) + MORE_TOLD
    return (curved, soft) if skewed else (edges, 0.0)


def _joined(edges: Real, seen: Real, least: int) -> Real:
    """Some of the edges, rounded to three digits, so that there are at least so many values between any two."""
    short = np.unique([float(f"{edge:.3g}") for edge in edges])
    kept = [short[0]]
    places = np.sort(seen)
    done = 0
    for edge in short[1:-1]:
        upto = int(np.searchsorted(places, edge))
        if upto - done >= least and len(places) - upto >= least:
            kept.append(edge)
            done = upto
    return np.array([*kept, short[-1]] if len(short) > 1 else [short[0] - 0.5, short[0] + 0.5])


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
