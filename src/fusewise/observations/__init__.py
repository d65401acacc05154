"""What was measured of each point: entries of a table, or anything that gives quadratics in the centres."""

from fusewise.observations.blanks import DataWarning, warn_of_blanks
from fusewise.observations.blocks import ArrayBlocks, ParquetBlocks, RowBlocks
from fusewise.observations.entries import Entries
from fusewise.observations.model import Observations
from fusewise.observations.quadratics import Quadratics
from fusewise.observations.reading import as_entries, as_sparse_entries, is_complex
from fusewise.observations.sparse import SparseEntries

__all__ = [
    "ArrayBlocks",
    "DataWarning",
    "Entries",
    "Observations",
    "ParquetBlocks",
    "Quadratics",
    "RowBlocks",
    "SparseEntries",
    "as_entries",
    "as_sparse_entries",
    "is_complex",
    "warn_of_blanks",
]
