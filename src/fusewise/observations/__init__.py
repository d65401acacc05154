"""What was measured of each point: entries of a table, or anything that gives quadratics in the centres."""

from fusewise.observations.blanks import DataWarning, warn_of_blanks
from fusewise.observations.blocks import ArrayBlocks, ParquetBlocks, RowBlocks
from fusewise.observations.entries import Entries
from fusewise.observations.model import Observations
from fusewise.observations.quadratics import Quadratics
from fusewise.observations.reading import as_entries, as_sparse_entries, as_table, is_complex
from fusewise.observations.sparse import SparseEntries
from fusewise.observations.streamed import StreamedEntries
from fusewise.observations.tables import InMemory, Table, each_block

__all__ = [
    "ArrayBlocks",
    "DataWarning",
    "Entries",
    "InMemory",
    "Observations",
    "ParquetBlocks",
    "Quadratics",
    "RowBlocks",
    "SparseEntries",
    "StreamedEntries",
    "Table",
    "as_entries",
    "as_sparse_entries",
    "as_table",
    "each_block",
    "is_complex",
    "warn_of_blanks",
]
