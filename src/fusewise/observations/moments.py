"""Statistics of the columns of a table that add: those of two groups of rows give those of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from fusewise.kernels import field_rules
from fusewise.kernels.checked import Checked
from fusewise.kernels.field_rules import Array, Number, Word
from fusewise.kernels.types import Index, Real, Values
from fusewise.observations.entries import Entries, wide


@dataclass(frozen=True, eq=False)
class ColumnMoments(Checked):
    """Counts, means, variances and ranges of columns.

    Attributes
    ----------
    n_rows, n_seen : number of rows, and of those with observed entries.
    counts, means, squares : for each column the number of observed entries, their mean (in double precision), and the
        sum of the squared deviations from it.
    low, high : P x 1 (P x 2 if complex), the smallest and largest entry; inf and -inf if there is none.
    dtype : type of the values of a table of all the rows.
    """

    n_rows: int
    n_seen: int
    counts: Index
    means: Values
    squares: Real
    low: Real
    high: Real
    dtype: str

    _rules: ClassVar = {
        "n_rows": Number(low=0, whole=True),
        "n_seen": Number(low=0, whole=True),
        "counts": field_rules.Index("P", below="more than N"),
        "means": Array("P", kinds="fc"),
        "squares": Array("P", low=0),
        "low": Array("P", "parts", finite=False),
        "high": Array("P", "parts", finite=False),
        "dtype": Word("<f4", "<f8", "<c8", "<c16", ">f4", ">f8", ">c8", ">c16"),
    }

    def _agree(self, dims: field_rules.Dims) -> None:
        dims["more than N"] = self.n_rows + 1

    @classmethod
    def of(cls, rows: Entries) -> ColumnMoments:
        """Those of a block of rows."""
        counts = rows.column_counts
        low, high = (side.reshape(rows.shape[1], -1).astype(float) for side in rows._range)
        some = counts[:, None] > 0
        return cls(
            rows.shape[0],
            rows.n_seen,
            counts,
            rows.column_means.astype(wide(rows.dtype)),
            counts * rows.column_variances,
            np.where(some, low, np.inf),
            np.where(some, high, -np.inf),
            rows.dtype.str,
        )

    def merged(self, other: ColumnMoments) -> ColumnMoments:
        """Those of both groups of rows (Chan, Golub and LeVeque, 1979)."""
        counts = self.counts + other.counts
        share = other.counts / np.maximum(counts, 1)
        gap = other.means - self.means
        return ColumnMoments(
            self.n_rows + other.n_rows,
            self.n_seen + other.n_seen,
            counts,
            self.means + gap * share,
            self.squares + other.squares + self.counts * share * np.square(np.abs(gap)),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            np.result_type(np.dtype(self.dtype), np.dtype(other.dtype)).str,
        )

    @property
    def table_means(self) -> Values:
        """The means in the type of the table."""
        return self.means.astype(np.dtype(self.dtype))

    @property
    def variances(self) -> Real:
        """Mean square of the deviations of each column from its mean."""
        return np.asarray(self.squares / np.maximum(self.counts, 1))

    @property
    def is_constant(self) -> npt.NDArray[np.bool_]:
        """Whether each column has the same value wherever it was observed."""
        return np.asarray((self.low >= self.high).all(axis=1))

    def drift_of(self, later: ColumnMoments) -> Real:
        """|mean of later rows - mean| over the larger standard deviation of the two; 0 where one has no entries."""
        away = np.abs(later.means - self.means)
        spread = np.sqrt(np.maximum(self.variances, later.variances))
        ratio = np.divide(away, spread, out=np.full(len(away), np.inf), where=spread > 0)
        return np.where((self.counts > 0) & (later.counts > 0) & (away > 0), ratio, 0.0)
