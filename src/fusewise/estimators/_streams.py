"""Blocks of rows that come one after another: what is kept of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fusewise.observations import Entries, StreamSummary, Table
from fusewise.tables import FrameEncoder

#: Rows of a sparse table that are made dense at a time.
ROWS_AT_A_TIME = 8192
#: Rows that are kept of a stream of blocks. Clusters are searched in samples of 5000 rows, or more if there are many.
STREAM_SAMPLE = 20_000


def with_rows(summary: StreamSummary | None, table: Table, encoder: FrameEncoder | None, seed: int) -> StreamSummary:
    """The summary after the rows of a table; None before there were any."""
    p = table.shape[1]
    if encoder is None:
        features, shares = table.feature_names or tuple(f"x{j}" for j in range(p)), np.zeros(p, bool)
    else:
        features, shares = encoder.features, encoder.shares
    for rows in _in_blocks(table):
        if summary is None:
            summary = StreamSummary.of(rows, STREAM_SAMPLE, seed, features, shares)
        else:
            summary = summary.with_rows(rows, features, shares)
    assert summary is not None
    return summary


def _in_blocks(table: Table) -> Iterator[Entries]:
    """The rows of a table, some at a time if it is not dense."""
    for part in table.parts():
        if isinstance(part, Entries):
            yield part
            continue
        for begin in range(0, part.shape[0], ROWS_AT_A_TIME):
            yield part.take(slice(begin, begin + ROWS_AT_A_TIME)).dense()
