"""What is kept of a stream of rows: a uniform sample of bounded size, the same for blocks of any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Values, splitmix64
from fusewise.observations._entries import BoundedEntries, Entries, stacked
from fusewise.support import Instance, Number, NumberArray, Record


@dataclass(frozen=True, eq=False)
class RowSample(Record):
    """The rows with the smallest priorities among those of a stream that have observed entries.

    The priority of a row is a random number that follows from the seed and from the position of the row in the stream.
    """

    size: int  # largest number of rows
    seed: int  # seed of the priorities
    n_rows: int  # rows of the stream so far, with or without observed entries
    # rows, priorities: the rows kept, in increasing order of their priorities
    rows: Entries
    priorities: npt.NDArray[np.uint64]

    _rules: ClassVar = {
        "size": Number(low=1, whole=True),
        "seed": Number(low=0, whole=True),
        "n_rows": Number(low=0, whole=True),
        "rows": Instance(Entries, N="kept", P="P"),
        "priorities": NumberArray("kept", kinds="u"),
    }

    @classmethod
    def empty(cls, size: int, seed: int, n_columns: int, dtype: npt.DTypeLike) -> RowSample:
        """The sample before the first row."""
        none = Entries(np.zeros((0, n_columns), dtype), np.zeros((0, n_columns), bool))
        return cls(size, seed, 0, none, np.zeros(0, np.uint64))

    def with_rows(self, rows: Entries) -> RowSample:
        """The sample after further rows."""
        end = self.n_rows + rows.shape[0]
        positions = np.arange(self.n_rows, end).astype(np.uint64)
        priorities = splitmix64(positions + splitmix64(np.array([self.seed], np.uint64)))
        new = np.flatnonzero(rows.row_counts > 0)
        if len(self.priorities) == self.size:
            new = new[priorities[new] < self.priorities[-1]]
        both = np.concatenate([self.priorities, priorities[new]])
        kept = np.argsort(both, kind="stable")[: self.size]
        some = stacked([self.rows, rows.take(new)]).take(kept)
        return replace(self, n_rows=end, rows=some, priorities=both[kept])

    def in_columns(self, features: Sequence[str], wanted: Sequence[str], same: Sequence[int]) -> RowSample:
        """The same rows with other columns: further levels of categories, which these rows do not have.

        `features`, `wanted`: names of the columns now and then; `same`: for each column then, one of now that is
        observed in the same rows.
        """
        places = np.array([features.index(name) if name in features else -1 for name in wanted])
        rows = self.rows

        def moved(part: Values, otherwise: float) -> Values:
            return np.where(places >= 0, part[:, places], otherwise)

        parts: dict[str, Any] = {"values": moved(rows.values, 0), "mask": rows.mask[:, np.array(same)]}
        if rows.variances is not None:
            parts["variances"] = moved(rows.variances, 0)
        if isinstance(rows, BoundedEntries):
            parts |= {"low": moved(rows.low, -np.inf), "high": moved(rows.high, np.inf)}
        return replace(self, rows=replace(rows, **parts))
