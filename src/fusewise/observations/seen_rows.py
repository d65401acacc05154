"""The rows of a table that have observed entries, numbered among themselves."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fusewise.kernels.types import Index


class SeenRows:
    """``n_seen`` and ``take_seen`` for tables that hold the number of observed entries of each row."""

    if TYPE_CHECKING:

        @property
        def row_counts(self) -> Index:
            """Observed entries in each row."""

        def take(self, rows: Index) -> InMemory:
            """Select rows."""

    @cached_property
    def _seen_rows(self) -> Index:
        return np.flatnonzero(self.row_counts > 0)

    @property
    def n_seen(self) -> int:
        """Number of rows with observed entries."""
        return len(self._seen_rows)

    def take_seen(self, rows: Index) -> InMemory:
        """Select rows, numbered in increasing order among those with observed entries."""
        return self.take(self._seen_rows[rows])
