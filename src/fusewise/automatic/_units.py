"""Which columns hold the levels of a category.

Powers by which skewed columns become symmetric, one for each column (Box and Cox, 1964; Yeo and Johnson, 2000).

The scale on which rows are clustered: the columns that vary, in units of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import boxcox1p, inv_boxcox1p

from fusewise.kernels import Index, Mask, Real, Values
from fusewise.observations import BoundedEntries, Entries, InMemory, Table, refuse_tiny, varying_columns
from fusewise.support import Instance, Maybe, NumberArray, PositionArray, Record


class LevelBlock(NamedTuple):
    """The columns from `start` to before `stop` hold the levels of one category, which may be ordered."""

    start: int
    stop: int
    ordered: bool = False


Levels = tuple[LevelBlock, ...]


def is_number(n_columns: int, levels: Levels) -> Mask:
    """Whether each column holds numbers, rather than a level of a category."""
    numeric = np.ones(n_columns, bool)
    for start, stop, *_ in levels:
        numeric[start:stop] = False
    return numeric


def only_columns(table: InMemory, columns: Index) -> InMemory:
    """Some of the columns of a table."""
    return table.standardised(columns, np.ones(table.shape[1]), np.zeros(table.shape[1]))


def row_keys(rows: npt.NDArray[Any]) -> npt.NDArray[np.void]:
    """A key for each row, the same for equal rows."""
    rows = np.ascontiguousarray(rows)
    return rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()


def layers(weights: Real) -> list[tuple[float, Mask]]:
    """The d_l and which columns have a weight of at least w_l, for the different weights 0 < w_1 < w_2 < ...

    With d_l = w_l - w_(l-1) and w_0 = 0, a row with weights of columns has the log-density

        log p_w(x | k) = sum_l d_l log p(x in the columns of l | k),

    that of several rows of one cluster, which are observed in fewer and fewer columns. A column j that is independent
    of the others adds w_j log p(x_j | k). Whole weights repeat columns, by measurements as independent of the first as
    one row of a cluster is of another.
    """
    levels = np.unique(weights)
    return [(float(d), weights >= w) for d, w in zip(np.diff(levels, prepend=0.0), levels, strict=True)]


#: Standard deviations within which values of a column are the same; and the share of its variance that errors may have
#: if it is to have a power.
SAME, SURE = 1e-6, 0.1


@dataclass(frozen=True, eq=False)
class Powers(Record):
    """A power for each column.

        t = a x + b,    y = ((1 + t)^e - 1) / e,  or log(1 + t) if e = 0,    z = c y + d

    The rows to which it is fitted have 0 <= t <= T. Beyond these, y goes on along its tangents: a power below zero has
    an upper bound, and no value would be an outlier. With e = 1, a column stays as it is but for its scale.
    """

    exponents: Real  # the e
    last: Real  # the T
    before: Real  # 2 x V, the a and b
    after: Real  # 2 x V, the c and d

    _rules: ClassVar = {
        "exponents": NumberArray("V"),
        "last": NumberArray("V", low=0),
        "before": NumberArray("2", "V"),
        "after": NumberArray("2", "V"),
    }

    def _verify(self) -> None:
        if not (self.before[0].all() and self.after[0].all()):
            raise ValueError("Powers has a column that is multiplied by zero")

    @classmethod
    def of(cls, table: Entries, levels: Levels = ()) -> Powers:
        """The powers after which columns are as near to a normal distribution as any power makes them.

        Observed values then have mean 0 and variance 1, or the weight of their column. The levels of categories stay as
        they are, and so do columns in which one value is frequent (``have_atoms``), or whose errors are large beside
        their standard deviation.
        """
        known = is_number(table.shape[1], levels) & ~have_atoms(table)
        if table.variances is not None:
            known &= table.variances.sum(axis=0) <= SURE * table.column_counts * table.column_variances
        numbers = np.flatnonzero(known)
        if not len(numbers):
            return cls.none(table)
        values, mask = table.values[:, numbers], table.mask[:, numbers]
        a, b = np.array([_counted(values[seen, j].astype(float)) for j, seen in enumerate(mask.T)]).reshape(-1, 2).T
        t = np.where(mask, a * values + b, 0)
        some = slice(None, None, 1 + len(t) // 1000)
        low = np.where(mask[some], t[some], np.inf).min(axis=0)
        high = np.where(mask[some], t[some], -np.inf).max(axis=0)
        central = mask[some] & (t[some] > low) & (t[some] < high)  # one outlier is no shape
        exponents = likeliest(np.where(central, t[some], 0), central)
        y = boxcox1p(t, exponents)  # 0 where missing
        n = np.maximum(mask.sum(axis=0), 1)
        middle = y.sum(axis=0) / n
        deviation = np.sqrt(np.square(np.where(mask, y - middle, 0)).sum(axis=0) / n)
        c = np.sign(a) / np.where(deviation > 0, deviation, 1)
        if table.weights is not None:
            c = c * np.sqrt(table.weights[numbers])
        found = cls.none(table)
        found.exponents[numbers], found.last[numbers] = exponents, t.max(axis=0, initial=0)
        found.before[:, numbers], found.after[:, numbers] = (a, b), (c, -c * middle)
        return found

    @classmethod
    def none(cls, table: Entries) -> Powers:
        """Those that leave all columns as they are."""
        p = table.shape[1]
        same = np.array([np.ones(p), np.zeros(p)])
        return cls(np.ones(p), table.values.max(axis=0, initial=0).astype(float), same, same.copy())

    @property
    def n_powers(self) -> int:
        """Columns that have a power."""
        return int(np.count_nonzero(self.exponents != 1))

    def gain(self, table: Entries) -> float:
        """How much likelier the columns of a table are as powers of normal ones, each by itself, in nats."""
        t = np.where(table.mask, self.before[0] * table.values + self.before[1], 0)
        ours, plain = (log_likelihood(t, table.mask, each) for each in (self.exponents, np.ones(len(self.last))))
        with np.errstate(invalid="ignore"):  # of columns without variation
            gains = ours - plain
        return float(np.nansum(gains if table.weights is None else table.weights * gains))

    def applied(self, table: InMemory) -> Entries:
        """The z of a table of x; errors are multiplied by dz/dx, and bounds are those of z."""
        rows = table.dense()
        found = replace(rows, values=np.where(rows.mask, self._transformed(rows.values), 0))
        if rows.variances is not None:
            found = replace(found, variances=rows.variances * np.exp(2 * self._log_slopes(rows.values)))
        if not isinstance(found, BoundedEntries):
            return found
        slope = self.before[0] * self.after[0]
        known = found.low, found.high
        ends = [np.where(np.isinf(end), np.sign(slope) * end, self._transformed(end)) for end in known]
        return replace(found, low=np.minimum(*ends), high=np.maximum(*ends))

    def _transformed(self, values: Real) -> Real:
        """The z of values x."""
        t = self.before[0] * values + self.before[1]
        below, above = np.minimum(t, 0), np.maximum(t - self.last, 0)
        slope = (1 + self.last) ** (self.exponents - 1)  # of y at T; at 0 it is 1
        y = boxcox1p(np.clip(t, 0, self.last), self.exponents) + below + slope * above
        y = np.where(self.exponents == 1, t, y)  # not only nearly so: levels are compared
        return np.asarray(np.clip(self.after[0] * y + self.after[1], -1e6, 1e6))  # an outlier is one, however far it is

    def log_slopes(self, table: InMemory) -> Real:
        """Log |dz / dx|, summed over the observed entries of each row of a table of x."""
        rows = table.dense()
        slopes = self._log_slopes(rows.values)
        if table.weights is not None:
            slopes = table.weights * slopes
        return np.asarray(np.where(rows.mask, slopes, 0).sum(axis=1))

    def _log_slopes(self, values: Real) -> Real:
        """Log |dz / dx| at values x."""
        t = np.clip(self.before[0] * values + self.before[1], 0, self.last)
        return np.asarray((self.exponents - 1) * np.log1p(t) + np.log(np.abs(self.before[0] * self.after[0])))

    def undone(self, rows: Real) -> Real:
        """The x of some z, confined to the range of the rows that the powers were fitted to."""
        y = np.clip((rows - self.after[1]) / self.after[0], 0, boxcox1p(self.last, self.exponents))
        return np.asarray((np.clip(inv_boxcox1p(y, self.exponents), 0, self.last) - self.before[1]) / self.before[0])


def have_atoms(table: Entries) -> Mask:
    """Whether more than a tenth of the entries of each column have one value, to within rounding.

    No power spreads such values out; but one that is steep there would be rewarded for it by a density.
    """
    steps = np.round(table.values / np.sqrt(np.maximum(table.column_variances, 1e-300)) / SAME)
    largest = [
        np.unique(each[seen], return_counts=True)[1].max(initial=0)
        for each, seen in zip(steps.T, table.mask.T, strict=True)
    ]
    return np.asarray(np.array(largest) > 0.1 * table.column_counts)


def _counted(values: Real) -> tuple[float, float]:
    """The a and b of one column, of its observed values.

    Powers depend on the origin and the unit. Values are counted from the end of the short tail, in units of the
    distance to the median, or of the standard deviation, where half of the values lie at that end.
    """
    if not len(values):
        return 1.0, 0.0
    long_tail = -1.0 if values.mean() < np.median(values) else 1.0
    counted = long_tail * values
    end = float(counted.min())
    unit = float(np.median(counted) - end) or float(counted.std()) or 1.0
    return long_tail / unit, -end / unit


def likeliest(t: Real, mask: Mask) -> Real:
    """The exponent of each column with the largest likelihood, by golden-section search between -5 and 5."""
    golden = (np.sqrt(5) - 1) / 2
    low, high = (np.full(t.shape[1], bound) for bound in (-5.0, 5.0))
    inner = [high - golden * (high - low), low + golden * (high - low)]
    known = [log_likelihood(t, mask, exponents) for exponents in inner]
    while (high - low).max() > 1e-3:
        left = known[0] > known[1]  # the largest is below the upper of the two
        low, high = np.where(left, low, inner[0]), np.where(left, inner[1], high)
        new = np.where(left, high - golden * (high - low), low + golden * (high - low))
        found = log_likelihood(t, mask, new)
        inner = [np.where(left, new, inner[1]), np.where(left, inner[0], new)]
        known = [np.where(left, found, known[1]), np.where(left, known[0], found)]
    return np.asarray((low + high) / 2)


def log_likelihood(t: Real, mask: Mask, exponents: Real) -> Real:
    """Log-likelihood of each column's exponent e, with y normal: -n/2 log var(y) + (e - 1) sum_i log(1 + t_i)."""
    n = np.maximum(mask.sum(axis=0), 1)
    with np.errstate(all="ignore"):  # powers may overflow
        y = boxcox1p(t, exponents)
        variance = np.square(np.where(mask, y - y.sum(axis=0) / n, 0)).sum(axis=0) / n
        found = -0.5 * n * np.log(variance) + (exponents - 1) * np.log1p(t).sum(axis=0)
    return np.where(np.isfinite(found), found, -np.inf)


@dataclass(frozen=True, eq=False)
class Units(Record):
    """z = (x - middle) / scale in the columns that vary, or a power of it.

    A column with two values is a category like any other: it has two columns of z, 1 and 0 times a unit u in rows with
    the one value, 0 and 1 times u in rows with the other, however the values are coded. Adjacent columns of which every
    row has exactly one are the levels of one category.

    Attributes
    ----------
    columns : V, those that vary, the ones with two values twice; z has no others.
    scale, middle : P, the standard deviation of each column (1 for those that do not vary), and its mean; of a column
        with two values, their distance over u, and the lower one.
    flips : V, u in the second column of z of a column with two values, 0 elsewhere.
    powers : those of the varying columns, if they were made symmetric.
    weights : V, how often each column counts (None: once); z is longer by their square roots, so that distances are
        those of repeated columns.
    """

    columns: Index
    scale: Real
    middle: Values
    flips: Real
    powers: Powers | None = None
    weights: Real | None = None

    _rules: ClassVar = {
        "columns": PositionArray("V", below="P"),
        "scale": NumberArray("P", low=0),
        "middle": NumberArray("P", kinds="fc"),
        "flips": NumberArray("V", low=0),
        "powers": Maybe(Instance(Powers, V="V")),
        "weights": Maybe(NumberArray("V", low=0)),
    }

    def _verify(self) -> None:
        if np.any(self.scale == 0):
            raise ValueError("Units.scale has a column of zero")

    def scaled(self, rows: InMemory) -> InMemory:
        """(x - middle) / scale of the rows of a table, u less that in the second column of a pair; with the weights."""
        found = rows.standardised(self.columns, self.scale, self.middle)
        if self.weights is not None:
            found = replace(found, weights=self.weights)
        second = np.flatnonzero(self.flips)
        if not len(second):
            return found
        assert isinstance(found, Entries)
        unit = self.flips[second]
        share = np.clip(found.values[:, second] / unit, 0, 1)  # other values, of later rows, count as lying between
        share = np.where(np.abs(share - np.round(share)) <= 2 * SAME, np.round(share), share)
        found.values[:, second - 1] = share * unit
        found.values[:, second] = np.where(found.mask[:, second], (1 - share) * unit, 0)
        return found

    def applied(self, rows: InMemory) -> InMemory:
        """The z of the rows of a table."""
        return self.made_symmetric(self.scaled(rows))

    def made_symmetric(self, rows: InMemory) -> InMemory:
        """The z of rows that are scaled already."""
        return rows if self.powers is None else self.powers.applied(rows)

    def log_slopes(self, rows: InMemory) -> Real | float:
        """By what the log-density of rows in standard deviations exceeds that of their z."""
        return 0.0 if self.powers is None else self.powers.log_slopes(self.scaled(rows))

    def undone(self, rows: Values) -> Values:
        """The rows of the table of some z; columns that do not vary have their mean."""
        whole = np.repeat(self.middle[None], len(rows), axis=0)
        scaled = rows if self.powers is None else self.powers.undone(rows)
        first = self.flips == 0
        whole[:, self.columns[first]] += (scaled * self.scale[self.columns])[:, first]
        return whole


def _two_values(sample: InMemory, levels: Levels, weights: Real) -> tuple[Index, list[Index], Real, Real, Real]:
    """The columns of numbers with two values, runs that are the levels of one category, and the values of all columns.

    These are P lower values, P higher ones, and P shares of the higher one. Every row has exactly one of the higher
    values of a run, or no entry there. Columns of a sparse table are left as they are.
    """
    p = sample.shape[1]
    if not isinstance(sample, Entries) or sample.dtype.kind == "c":
        return np.empty(0, np.intp), [], *np.zeros((3, p))
    values, mask = sample.values.astype(float), sample.mask
    low, high = np.min(values, axis=0, where=mask, initial=np.inf), np.max(values, axis=0, where=mask, initial=-np.inf)
    with np.errstate(invalid="ignore"):  # of columns without entries
        at = np.where(mask, (values - low) / np.where(high > low, high - low, 1), 0)
        either = (np.minimum(at, 1 - at) <= SAME).all(axis=0) & (high > low) & is_number(p, levels)
    either &= ~sample.inexact  # the exact values may be others
    higher, counts, used = np.round(at), mask.sum(axis=0), np.flatnonzero(weights)
    either[weights == 0] = False
    one_hot = [used[group] for group in _one_hot(higher[:, used], mask[:, used], either[used])]
    one_hot = [group for group in one_hot if np.ptp(weights[group]) == 0]
    totals = higher.sum(axis=0)
    either &= np.minimum(totals, counts - totals) > 1  # two entries that differ are no two values
    for group in one_hot:
        either[group] = False
    return np.flatnonzero(either), one_hot, low, high, totals / np.maximum(counts, 1)


def _one_hot(higher: Real, mask: Mask, either: Mask) -> list[Index]:
    """Runs of columns of which every row has exactly one of the higher values, or no entry."""
    found, start, (n, p) = [], 0, mask.shape
    while start < p:
        stop, total = start, np.zeros(n)
        while stop < p and either[stop] and total.max() <= 1 and np.array_equal(mask[:, stop], mask[:, start]):
            total += higher[:, stop]
            stop += 1
            if np.array_equal(total, mask[:, start]):
                break
        whole = stop - start > 1 and np.array_equal(total, mask[:, start])
        if whole and total.sum() > 2 * (stop - start):  # of few rows by chance
            found.append(np.arange(start, stop))
        start = stop if whole else start + 1
    return found


def units_of(table: Table, levels: Levels, sample: InMemory, weights: Real | None = None) -> tuple[Units, Levels]:
    """The units of a table, and the blocks of levels among the columns of z.

    Numbers have their standard deviation and mean; the levels of a category share one scale, by which the category as
    a whole has the variance of one number, and are not centred. Columns with two values are recognised in a `sample`.
    Columns count as often as the `weights` (P) say, those of weight zero not at all.
    """
    refuse_tiny(table)
    columns, scale = varying_columns(table)
    weights = np.ones(len(scale)) if weights is None else weights
    columns = columns[weights[columns] > 0] if weights[columns].any() else np.flatnonzero(weights)
    middle = table.column_means.copy()
    # A level that no row has (one of earlier rows of a stream) has no logarithm of its share.
    never = np.zeros(len(middle), bool)
    for start, stop, _ in levels:
        never[start:stop] = middle[start:stop] == 0
    columns = columns[~never[columns]] if not never[columns].all() else columns
    blocks = []
    for start, stop, ordered in levels:
        inside = columns[(columns >= start) & (columns < stop)]
        if table.column_counts[inside].any():  # else it says nothing
            scale[inside] = np.sqrt(table.column_variances[inside].sum()) or 1.0  # a single level
            middle[inside] = 0
            blocks.append((int(inside[0]), len(inside), ordered))
    two, one_hot, low, high, share = _two_values(sample, levels, weights)
    for group in one_hot:
        unit = np.sqrt((share * (1 - share))[group].sum())
        scale[group], middle[group] = (high - low)[group] * unit, low[group]
        blocks.append((int(group[0]), len(group), False))
    units = 1 / np.sqrt(2 * share[two] * (1 - share[two]))
    scale[two], middle[two] = (high - low)[two] / units, low[two]
    blocks += [(j, 2, False) for j in two.tolist()]
    columns = np.sort(np.concatenate([np.setdiff1d(columns, two), two, two]))
    flips = np.zeros(len(columns))
    flips[np.searchsorted(columns, two) + 1] = units
    flips *= np.sqrt(weights[columns])
    scale /= np.sqrt(np.where(weights > 0, weights, 1))
    begin = np.searchsorted(columns, [first for first, *_ in blocks]).tolist()
    found = sorted(LevelBlock(at, at + width, ordered) for at, (_, width, ordered) in zip(begin, blocks, strict=True))
    often = None if (weights[columns] == 1).all() else weights[columns]
    return Units(columns, scale, middle, flips, None, often), tuple(found)
