"""What is kept of a stream of rows: a uniform sample of bounded size, the same for blocks of any size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from fusewise.kernels import splitmix64
from fusewise.observations._entries import Entries, stacked
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
