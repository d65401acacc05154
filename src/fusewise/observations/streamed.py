"""A table that is read in blocks of rows, and the statistics kept in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fusewise.kernels import field_rules
from fusewise.kernels.checked import Checked
from fusewise.kernels.field_rules import Array, Maybe, Several, Word
from fusewise.kernels.input_errors import InputError
from fusewise.kernels.types import Index, Real, Values
from fusewise.observations.blocks import RowBlocks
from fusewise.observations.checks import check_fits, refuse_infinite
from fusewise.observations.entries import Entries
from fusewise.observations.moments import ColumnMoments
from fusewise.observations.seen_rows import SeenRows


@dataclass(frozen=True, eq=False)
class StreamedEntries(SeenRows, Checked):
    """Counts, means and variances of a table that stays on disk; its rows are read when they are needed.

    Attributes
    ----------
    source : the blocks of rows; None in a copy or a saved model, which do not include the table on disk.
    row_counts, column_counts, column_means, column_variances, is_constant, feature_names : as in ``Entries``.
    """

    source: RowBlocks | None
    row_counts: Index
    column_counts: Index
    column_means: Values
    column_variances: Real
    is_constant: npt.NDArray[np.bool_]
    feature_names: tuple[str, ...] | None = field(default=None)

    _rules: ClassVar = {
        "row_counts": field_rules.Index("N", below="more than P"),
        "column_counts": field_rules.Index("P", below="more than N"),
        "column_means": Array("P", kinds="fc"),
        "column_variances": Array("P", low=0),
        "is_constant": Array("P", kinds="b"),
        "feature_names": Maybe(Several(Word(), "P")),
    }

    def _agree(self, dims: field_rules.Dims) -> None:
        dims["more than P"], dims["more than N"] = dims["P"] + 1, dims["N"] + 1

    @classmethod
    def of(cls, source: RowBlocks) -> StreamedEntries:
        """Compute the statistics in one pass, adding up those of each block (Chan, Golub and LeVeque, 1979)."""
        row_counts: list[Index] = []
        names, moments = None, None
        for block in source.blocks():
            refuse_infinite(block.values, block.mask, block.feature_names, sum(map(len, row_counts)))
            own = ColumnMoments.of(block)
            moments = own if moments is None else moments.merged(own)
            names = block.feature_names
            row_counts.append(block.row_counts)
        assert moments is not None, "a table on disk has at least one block of rows"
        return cls(
            source,
            np.concatenate(row_counts),
            moments.counts,
            moments.table_means,
            moments.variances,
            moments.is_constant,
            names,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(N, P)."""
        return len(self.row_counts), len(self.column_counts)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the values."""
        return self.column_means.dtype

    @property
    def n_stored(self) -> int:
        """Number of values that all rows would take in memory."""
        return len(self.row_counts) * len(self.column_counts)

    @property
    def is_complete(self) -> bool:
        """Whether no entry is missing."""
        return int(self.column_counts.sum()) == self.n_stored

    @property
    def observed_fraction(self) -> float:
        """p0: observed entries over all entries."""
        return int(self.column_counts.sum()) / self.n_stored

    def parts(self) -> Iterator[Entries]:
        """Iterate over the rows in order, in blocks."""
        if self.source is None:
            raise InputError("saved and copied models do not include their table on disk: pass the table again")
        return self.source.blocks()

    def take(self, rows: Index) -> Entries:
        """Select rows, given in increasing order, in one pass over the table."""
        check_fits("the selection of rows", (len(rows), self.shape[1]), self.dtype.itemsize + 1)
        pieces, begin = [], 0
        for part in self.parts():
            end = begin + part.shape[0]
            wanted = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, end)]
            pieces.append(part.take(wanted - begin))
            begin = end
        values, mask = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("values", "mask"))
        return Entries(values, mask, self.feature_names)

    def dense(self) -> Entries:
        """Read all rows; raises MemoryError if they do not fit."""
        return self.take(np.arange(self.shape[0]))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "source": None}
