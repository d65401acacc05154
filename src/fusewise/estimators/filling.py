"""Missing values of rows, filled in and put back into the kind of table that they came in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fusewise.estimators.placement import Placement
from fusewise.kernels import Values
from fusewise.observations import Entries, ValueRanges, as_rows
from fusewise.tables import FrameEncoder, Reading, is_frame


@dataclass(frozen=True, eq=False)
class Filler:
    """Which values a column can have, and how its entries were encoded.

    Attributes
    ----------
    encoder : what encodes the columns; None for numbers.
    ranges : range and grid of each column, if they are known.
    """

    encoder: FrameEncoder | None
    ranges: ValueRanges | None

    def matrix(self, entries: Entries, whole: Values, *, drawn: bool = False) -> Values:
        """Features without gaps: missing entries are taken from `whole`, expected values or random draws."""
        if self.ranges is not None:
            whole = self.ranges.possible(whole) if drawn else self.ranges.confined(whole)
        return entries.fill(whole)

    def filled(self, X: Any, matrix: Values) -> Any:
        """X with its missing entries taken from a matrix of features, in the container of X."""
        numbers = self.encoder is None and (is_frame(X) or isinstance(X, Reading))
        encoder = FrameEncoder.of(X, []) if numbers else self.encoder
        return matrix if encoder is None else encoder.filled(X, matrix)


def fill_block(block: Any, number: int, filler: Filler, placement: Placement) -> Any:
    """Fill in a block of a Dask table from its clusters."""
    rows = as_rows(block, None if filler.encoder is None else filler.encoder.encode)
    if not rows.shape[0]:
        return block if is_frame(block) else rows.values
    return filler.filled(block, filler.matrix(rows, placement.of_rows("completed", rows)))
