"""Tables: from a person's file to the columns that are clustered, and back.

The modules, in the order in which data goes through them: ``_sources`` (bytes of files and of parts), ``_text`` and
``_binary`` (bytes to cells), ``_grid`` (cells by column), ``_cells`` (numbers and missing values), ``_recognition`` and
``_columns`` (what each column is), ``_reading`` (``read_table``) and ``_rereading`` (further rows, read likewise),
``_encoder`` (columns as numbers), ``_results`` (numbers written back).
"""

from fusewise.observations import is_frame
from fusewise.support import InputError
from fusewise.tables._columns import Column, Kind
from fusewise.tables._encoder import (
    OTHER,
    ColumnCode,
    FrameEncoder,
    contents_of,
    names_of,
    needs_encoding,
    warn_of_numbered_things,
)
from fusewise.tables._grid import Cells, Dialect, as_cells, find_column, find_columns
from fusewise.tables._reading import Reading, ReadOptions, as_spec, read, read_grid, read_table
from fusewise.tables._recognition import column_or_none, is_called_class, row_names
from fusewise.tables._rereading import PartReader, as_extra, read_sample, recode, reread, sampled_parts, sampled_rows
from fusewise.tables._results import center_table, complete, free_name, in_dialect, numbers_like
from fusewise.tables._sources import STANDARD_INPUT, files_of, parts_of, stem_of

#: The documented names are Column, ColumnCode, FrameEncoder, InputError, Kind, Reading and read_table; the others are
#: for the rooms above this one.
__all__ = [
    "OTHER", "STANDARD_INPUT", "Cells", "Column", "ColumnCode", "Dialect", "FrameEncoder", "InputError", "Kind",
    "PartReader", "ReadOptions", "Reading", "as_cells", "as_extra", "as_spec", "center_table", "column_or_none",
    "complete", "contents_of", "files_of", "find_column", "find_columns", "free_name", "in_dialect", "is_called_class",
    "is_frame", "names_of", "needs_encoding", "numbers_like", "parts_of", "read", "read_grid", "read_sample",
    "read_table", "recode", "reread", "row_names", "sampled_parts", "sampled_rows", "stem_of",
    "warn_of_numbered_things",
]  # fmt: skip
