"""Observation models: entries of a table, in memory or on disk, or any quadratic function of the centres."""

from fusewise.observations.blanks import DataWarning, warn_of_blanks
from fusewise.observations.blocks import ArrayBlocks, ParquetBlocks, RowBlocks
from fusewise.observations.contract import Observations
from fusewise.observations.conversion import as_entries, as_sparse_entries, as_table, is_complex
from fusewise.observations.entries import Entries
from fusewise.observations.kinds import InMemory, Table, each_block, reduce_blocks
from fusewise.observations.quadratics import Quadratics
from fusewise.observations.repeated import RepeatedRows, as_counts
from fusewise.observations.sparse import SparseEntries
from fusewise.observations.stream_summary import StreamSummary
from fusewise.observations.streamed import StreamedEntries
from fusewise.observations.value_ranges import ValueRanges

__all__ = [
    "ArrayBlocks",
    "DataWarning",
    "Entries",
    "InMemory",
    "Observations",
    "ParquetBlocks",
    "Quadratics",
    "RepeatedRows",
    "RowBlocks",
    "SparseEntries",
    "StreamSummary",
    "StreamedEntries",
    "Table",
    "ValueRanges",
    "as_counts",
    "as_entries",
    "as_sparse_entries",
    "as_table",
    "each_block",
    "is_complex",
    "reduce_blocks",
    "warn_of_blanks",
]
