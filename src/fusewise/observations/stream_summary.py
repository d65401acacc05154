"""What is kept of a stream of rows: statistics of its columns that add, and a sample of bounded size."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fusewise.kernels.checked import Checked, Record
from fusewise.kernels.types import Mask
from fusewise.kernels.words import some_of
from fusewise.observations.blanks import DataWarning
from fusewise.observations.entries import Entries
from fusewise.observations.moments import ColumnMoments
from fusewise.observations.row_sample import RowSample

#: A column drifts if the mean of a block is so many standard deviations from the mean of the rows before, with at
#: least so many entries in the block.
FAR_AWAY, FEWEST_ENTRIES = 5.0, 5


@dataclass(frozen=True, eq=False)
class StreamSummary(Checked):
    """A summary of the rows of a stream; its size does not grow with their number.

    Attributes
    ----------
    moments : statistics of the columns over all rows.
    sample : a uniform sample of the rows.
    """

    moments: ColumnMoments
    sample: RowSample

    _rules: ClassVar = {"moments": Record(ColumnMoments, P="P"), "sample": Record(RowSample, P="P")}

    @classmethod
    def of(cls, rows: Entries, size: int, seed: int, features: Sequence[str], shares: Mask) -> StreamSummary:
        """The summary of the first rows (see ``RowSample``)."""
        sample = RowSample.empty(size, seed, rows.shape[1])
        return cls(ColumnMoments.of(rows), sample.with_rows(rows, features, shares))

    def with_rows(self, rows: Entries, features: Sequence[str], shares: Mask) -> StreamSummary:
        """The summary after further rows; columns that have moved far from what was seen before are said."""
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
        old, place = self.moments, {name: j for j, name in enumerate(features)}
        known = np.array([place.get(name, -1) for name in wanted])
        counts = old.counts[list(same)]
        means, squares = (np.where(known >= 0, part[known], 0) for part in (old.means, old.squares))
        some = ((known >= 0) | (counts > 0))[:, None]
        low, high = (
            np.where(known[:, None] >= 0, part[known], np.where(some, 0, part[list(same)]))
            for part in (old.low, old.high)
        )
        moments = replace(old, counts=counts, means=means, squares=squares, low=low, high=high)
        return StreamSummary(moments, self.sample.in_columns(features, wanted, same))

    def table(self, names: tuple[str, ...] | None) -> Entries:
        """The sample as a table."""
        values = self.sample.values.astype(np.dtype(self.moments.dtype))
        return Entries(values, self.sample.mask, names)
