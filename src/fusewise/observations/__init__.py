"""Observation models: entries of a table, in memory or on disk, or any quadratic function of the centres."""

from fusewise.observations._checks import (
    LARGEST,
    as_counts,
    as_objects,
    check_fits,
    is_dask,
    is_frame,
    is_missing,
    numbered,
    refuse_other_than_tables,
    refuse_tiny,
)
from fusewise.observations._conversion import (
    NO_CLUSTER,
    DataWarning,
    as_entries,
    as_sparse_entries,
    as_table,
    half_known,
    is_complex,
    warn_of_blanks,
)
from fusewise.observations._dask import Block, DaskBlocks, DaskTable, compute, dask_library, merged
from fusewise.observations._entries import (
    BoundedEntries,
    Entries,
    InMemory,
    SparseEntries,
    Table,
    each_block,
    row_blocks,
    stored_where,
    varying_columns,
    wide,
)
from fusewise.observations._quadratics import Quadratics
from fusewise.observations._streamed import (
    ArrayBlocks,
    ColumnMoments,
    RepeatedRows,
    RowBlocks,
    RowSample,
    StreamedEntries,
)
from fusewise.observations._values import ValueRanges, blur, group_means, number_by_size, steps
