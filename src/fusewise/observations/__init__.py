"""Observation models: entries of a table, in memory or on disk, or any quadratic function of the centres."""

from fusewise.observations._bounded import BoundedEntries, half_known
from fusewise.observations._checks import (
    LARGEST,
    as_objects,
    check_fits,
    is_frame,
    is_missing,
    refuse_other_than_tables,
    refuse_tiny,
)
from fusewise.observations._conversion import (
    NO_CLUSTER,
    DataWarning,
    as_entries,
    as_sparse_entries,
    as_table,
    is_complex,
    warn_of_blanks,
)
from fusewise.observations._dask import DaskBlocks, DaskTable, as_rows, compute, dask_library, is_dask, merged
from fusewise.observations._entries import Entries, InMemory, SparseEntries, Table, each_block, reduce_blocks, wide
from fusewise.observations._quadratics import Observations, Quadratics
from fusewise.observations._repeated import RepeatedRows, as_counts
from fusewise.observations._streamed import ArrayBlocks, ColumnMoments, ParquetBlocks, RowBlocks, StreamedEntries
from fusewise.observations._summary import RowSample, StreamSummary
from fusewise.observations._values import ValueRanges, blur, group_means, number_by_size, steps
