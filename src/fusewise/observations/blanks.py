"""Warnings about rows and columns without information: nothing observed, or a single value."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from fusewise.kernels.types import Index
from fusewise.kernels.words import counted, some_of
from fusewise.observations.kinds import Remote, Table


class DataWarning(UserWarning):
    """Warning about rows or columns of a table that carry no information."""


#: What becomes of a row without an observed entry.
NO_CLUSTER = "labelled -1, as no cluster can be assigned"


def warn_of_blanks(table: Table, *, columns: bool = True, placed: Index | None = None, fate: str = NO_CLUSTER) -> None:
    """Warn about rows without an observed entry, and about columns that are empty or constant.

    Parameters
    ----------
    table : the table.
    columns : whether to look at columns as well.
    placed : rows that have a cluster without observed entries, by hints.
    fate : what becomes of the other rows without observed entries.
    """
    _warn_of_rows(table, placed, fate)
    if columns:
        n_columns, names = table.column_counts, table.feature_names
        _warn("column", n_columns == 0, names, "no observed entry: ignored, with cluster centres set to 0")
        constant = (n_columns > 0) & table.is_constant
        _warn("column", constant, names, "the same value in every observed entry: no help in separating clusters")


def _warn_of_rows(table: Table, placed: Index | None, fate: str) -> None:
    no_cluster = f"no observed entry: {fate}"
    if isinstance(table, Remote):  # which rows they are is known where the rows are
        empty = table.shape[0] - table.n_seen
        if empty:
            has = "has" if empty == 1 else "have"
            warnings.warn(f"{counted(empty, 'row')} {has} {no_cluster}", DataWarning, stacklevel=4)
        return
    alone = table.row_counts == 0
    if placed is not None and len(placed):
        hinted = alone & np.isin(np.arange(len(alone)), placed)
        _warn("row", hinted, None, "no observed entry: placed by hints alone")
        alone &= ~hinted
    _warn("row", alone, None, no_cluster)


def _warn(kind: str, concerned: npt.NDArray[np.bool_], names: tuple[str, ...] | None, what: str) -> None:
    """Warn that 'row 3 has' or 'columns 1 ('a'), 5 ('b') and 7 more have' what is said, if any row or column has."""
    found = [f"{i} ({names[i]!r})" if names else str(i) for i in np.flatnonzero(concerned)]
    if found:
        subject, has = (kind, "has") if len(found) == 1 else (f"{kind}s", "have")
        warnings.warn(f"{subject} {some_of(found, 5)} {has} {what}", DataWarning, stacklevel=4)
