"""Warnings about rows and columns without information: nothing observed, or a single value."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from fusewise.observations.kinds import Table


class DataWarning(UserWarning):
    """Warning about rows or columns of a table that carry no information."""


def warn_of_blanks(table: Table, *, columns: bool = True) -> None:
    """Warn about rows without an observed entry, and about columns that are empty or constant."""
    rows = np.flatnonzero(table.row_counts == 0)
    if len(rows):
        warnings.warn(
            f"{_some('row', rows)} no observed entry: labelled -1, as no cluster can be assigned",
            DataWarning,
            stacklevel=3,
        )
    if not columns:
        return
    empty = np.flatnonzero(table.column_counts == 0)
    if len(empty):
        warnings.warn(
            f"{_some('column', empty, table.feature_names)} no observed entry: ignored, with cluster centres set to 0",
            DataWarning,
            stacklevel=3,
        )
    constant = np.flatnonzero((table.column_counts > 0) & table.is_constant)
    if len(constant):
        warnings.warn(
            f"{_some('column', constant, table.feature_names)} the same value in every observed entry: "
            "no help in separating clusters",
            DataWarning,
            stacklevel=3,
        )


def _some(kind: str, indices: npt.NDArray[np.intp], names: tuple[str, ...] | None = None) -> str:
    """'row 3 has', 'columns 1 ('a'), 5 ('b') and 7 more have'."""
    shown = [f"{i} ({names[i]!r})" if names else str(i) for i in indices[:5]]
    more = f" and {len(indices) - 5} more" if len(indices) > 5 else ""
    return f"{kind}{'s' if len(indices) > 1 else ''} {', '.join(shown)}{more} {'have' if len(indices) > 1 else 'has'}"
