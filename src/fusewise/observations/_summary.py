"""What is kept of a stream of rows: statistics of its columns that add, and a uniform sample of bounded size.

The sample is the same in any order of the rows and for any sizes of blocks. Every row has a priority, a random number,
and the rows with the smallest ones are kept. The priority is a hash of the content of the row, hence independent of
where it comes in the stream. Copies of a row must not share it, or all of them would be kept or none; so a row that has
come before gets a hash of its content and position. Which rows have come before is remembered by a Bloom filter: now
and then it takes a new row for a copy (for 4 in 10 million of 30,000 rows, for one in fifty of a million), which
changes its priority, but not that the sample is uniform.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Index, Mask, Real, Values, splitmix64
from fusewise.observations._conversion import DataWarning
from fusewise.observations._entries import BoundedEntries, Entries, stacked, wide
from fusewise.observations._streamed import ColumnMoments
from fusewise.support import Instance, Number, NumberArray, Record, some_of

Hashes = npt.NDArray[np.uint64]

#: Bits of the filter (one MiB), and how many of them each row sets.
FILTER_BITS, PROBES = 2**23, 4


@dataclass(frozen=True, eq=False)
class RowSample(Record):
    """The rows with the smallest priorities among those of a stream that have observed entries."""

    size: int  # largest number of rows
    seed: int  # seed of the priorities
    n_rows: int  # rows of the stream so far, with or without observed entries
    # rows, priorities: the rows kept, in increasing order of their priorities
    rows: Entries
    priorities: Hashes
    known: npt.NDArray[np.uint8]  # the Bloom filter of the rows that have come

    _rules: ClassVar = {
        "size": Number(low=1, whole=True),
        "seed": Number(low=0, whole=True),
        "n_rows": Number(low=0, whole=True),
        "rows": Instance(Entries, N="kept", P="P"),
        "priorities": NumberArray("kept", kinds="u"),
        "known": NumberArray(str(FILTER_BITS // 8), kinds="u"),
    }

    @classmethod
    def empty(cls, size: int, seed: int, n_columns: int) -> RowSample:
        """The sample before the first row."""
        none = Entries(np.zeros((0, n_columns)), np.zeros((0, n_columns), bool))
        return cls(size, seed, 0, none, np.zeros(0, np.uint64), np.zeros(FILTER_BITS // 8, np.uint8))

    def with_rows(self, rows: Entries, features: Sequence[str], shares: Mask) -> RowSample:
        """The sample after further rows, which have the same priorities under any order of the columns (`features`).

        `shares`: whether each column is a level of a category, of which a row has one.
        """
        own = _content(rows, features, shares)
        repeated, known = _come_before(own, self.known)
        position = (np.arange(self.n_rows, self.n_rows + rows.shape[0]) + 1).astype(np.uint64)
        priorities = splitmix64(
            own + splitmix64(np.where(repeated, position, 0).astype(np.uint64) + np.uint64(self.seed))
        )
        new = np.flatnonzero(rows.row_counts > 0)
        if len(self.priorities) == self.size:
            new = new[priorities[new] < self.priorities[-1]]
        both = np.concatenate([self.priorities, priorities[new]])
        kept = np.argsort(both, kind="stable")[: self.size]
        some = stacked([self.rows, rows.take(new)]).take(kept)
        return replace(self, n_rows=self.n_rows + rows.shape[0], rows=some, priorities=both[kept], known=known)

    def in_columns(self, places: Index, same: Index) -> RowSample:
        """The same rows with other columns: further levels of categories, which these rows do not have.

        `places`: of each column the earlier position, or -1; `same`: a column that is observed in the same rows.
        """
        rows = self.rows

        def moved(part: Values, otherwise: float) -> Values:
            return np.where(places >= 0, part[:, places], otherwise)

        parts: dict[str, Any] = {"values": moved(rows.values, 0), "mask": rows.mask[:, same]}
        if rows.variances is not None:
            parts["variances"] = moved(rows.variances, 0)
        if isinstance(rows, BoundedEntries):
            parts |= {"low": moved(rows.low, -np.inf), "high": moved(rows.high, np.inf)}
        return replace(self, rows=replace(rows, **parts))


def _content(rows: Entries, features: Sequence[str], shares: Mask) -> Hashes:
    """A number for the entries of each row: the sum over its columns of a hash of the name and what is known."""
    found = np.zeros(rows.shape[0], np.uint64)
    values, inexact = rows.values.astype(wide(rows.dtype)), rows.inexact
    for j, name in enumerate(features):
        seed = np.uint64(int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little"))
        seen = rows.mask[:, j] & (values[:, j] != 0) if shares[j] else rows.known[:, j]
        column = values[:, j]
        key = _hashed(seed, *([column] if column.dtype.kind == "f" else [column.real, column.imag]))
        if inexact[j] and rows.variances is not None:
            key = np.where(rows.variances[:, j] > 0, _hashed(key, rows.variances[:, j]), key)
        if inexact[j] and isinstance(rows, BoundedEntries):
            key = np.where(rows.bounded[:, j], _hashed(key, rows.low[:, j], rows.high[:, j]), key)
        found += np.where(seen, key, np.uint64(0))
    return found


def _hashed(key: Any, *columns: Real) -> Hashes:
    for column in columns:
        key = splitmix64((column + 0.0).view(np.uint64) + key)  # -0.0 is 0.0
    found: Hashes = key
    return found


def _come_before(hashes: Hashes, known: npt.NDArray[np.uint8]) -> tuple[Mask, npt.NDArray[np.uint8]]:
    """Whether each row has come before, here or in the filter; and the filter with these rows."""
    step = (hashes >> np.uint64(32)) | np.uint64(1)
    bits = np.stack([(hashes + np.uint64(k) * step) % np.uint64(FILTER_BITS) for k in range(PROBES)])
    place, bit = (bits >> np.uint64(3)).astype(np.intp), np.uint8(1) << (bits & np.uint64(7)).astype(np.uint8)
    repeated = ((known[place] & bit) != 0).all(axis=0)
    first = np.zeros(len(hashes), bool)
    first[np.unique(hashes, return_index=True)[1]] = True
    known = known.copy()
    np.bitwise_or.at(known, place.ravel(), bit.ravel())
    return repeated | ~first, known


#: A column drifts if the mean of a block is further than this many standard deviations from that of the rows before;
#: blocks with fewer entries in the column are not judged.
FAR_AWAY, FEWEST_ENTRIES = 5.0, 5


@dataclass(frozen=True, eq=False)
class StreamSummary(Record):
    """A summary of the rows of a stream; its size does not grow with their number."""

    moments: ColumnMoments  # statistics of the columns over all rows
    sample: RowSample  # a uniform sample of the rows

    _rules: ClassVar = {"moments": Instance(ColumnMoments, P="P"), "sample": Instance(RowSample, P="P")}

    @classmethod
    def empty(cls, size: int, seed: int, n_columns: int, dtype: npt.DTypeLike) -> StreamSummary:
        """The summary before the first row."""
        none = Entries(np.zeros((0, n_columns), dtype), np.zeros((0, n_columns), bool))
        return cls(ColumnMoments.of(none), RowSample.empty(size, seed, n_columns))

    def with_rows(self, rows: Entries, features: Sequence[str], shares: Mask) -> StreamSummary:
        """The summary after further rows; warns about columns whose mean has moved far."""
        own = ColumnMoments.of(rows)
        drift = np.where((own.counts >= FEWEST_ENTRIES) & ~shares, self.moments.drift_of(own), 0.0)
        far = np.flatnonzero(drift > FAR_AWAY)
        if len(far):
            said = [f"{features[int(j)]!r} ({drift[j]:.3g})" for j in far]
            warnings.warn(
                f"the mean of column {some_of(said, 5)} is more than {FAR_AWAY:g} standard deviations from that of "
                "the rows before (their number in parentheses): the table may be drifting",
                DataWarning,
                stacklevel=4,
            )
        return StreamSummary(self.moments.merged(own), self.sample.with_rows(rows, features, shares))

    def in_columns(self, features: Sequence[str], wanted: Sequence[str], same: Sequence[int]) -> StreamSummary:
        """The summary of the same rows with further levels of categories (see ``RowSample.in_columns``)."""
        places = np.array([features.index(name) if name in features else -1 for name in wanted])
        none = {"counts": 0, "means": 0, "squares": 0, "between": 0, "inexact": False, "low": np.inf, "high": -np.inf}
        parts: dict[str, Any] = {}
        for name, empty in none.items():  # of further levels nothing is said: whether they drift is not judged
            old = getattr(self.moments, name)
            parts[name] = np.where((places >= 0).reshape(-1, *[1] * (old.ndim - 1)), old[places], empty)
        return StreamSummary(replace(self.moments, **parts), self.sample.in_columns(places, np.array(same)))

    def table(self, names: tuple[str, ...] | None) -> Entries:
        rows = self.sample.rows
        return replace(rows, values=rows.values.astype(np.dtype(self.moments.dtype)), feature_names=names)
