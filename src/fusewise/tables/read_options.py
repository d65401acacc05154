"""The user's options for reading a table: which columns to use, their kinds, and the format of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fusewise.support.words import some_of
from fusewise.tables.column_kinds import Kind
from fusewise.tables.deciding import ColumnSpec, level_key
from fusewise.tables.errors import InputError
from fusewise.tables.grids import Grid, find_column
from fusewise.tables.markers import unmark


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a table; see ``read_table`` for the first six.

    Attributes
    ----------
    only : names of the columns to use; empty: all.
    names, labels : columns with the row names and the known classes; "none" or False: there is none; None: detected.
    """

    sheet: str | int | None = None
    sep: str | None = None
    decimal: str | None = None
    missing: Sequence[str] = ()
    kinds: Mapping[str, ColumnSpec] = field(default_factory=dict)
    ignore: Sequence[str] = ()
    only: Sequence[str] = ()
    names: str | Literal[False] | None = None
    labels: str | Literal[False] | None = None


def as_spec(name: str, kind: str | Sequence[Any]) -> ColumnSpec:
    """Convert the user's description of a column: a kind, or the levels of an ordered column."""
    if not isinstance(kind, str):
        levels = tuple(kind)
        if len({level_key(level) for level in levels}) < max(2, len(levels)):
            raise InputError(f"kinds, column {name!r}: an ordered column needs two or more different levels")
        return ColumnSpec(Kind.ORDERED, levels)
    if kind not in set(Kind):
        raise InputError(f"kinds, column {name!r}: {kind!r} is not a kind of column; use one of {', '.join(Kind)}")
    return ColumnSpec(Kind(kind))


def specs_of(grid: Grid, kinds: Mapping[str, ColumnSpec]) -> dict[str, ColumnSpec]:
    """Specifications of columns by the user, or else by the file (ordered columns)."""
    for name in kinds:
        find_column(grid.written, name, "kinds or --number, --category, --ordered")
    told = {name: ColumnSpec(Kind.ORDERED, tuple(levels)) for name, levels in grid.levels.items()} | dict(kinds)
    for name, kind in told.items():
        if kind.kind == Kind.ORDERED and not kind.levels:
            told[name] = ColumnSpec(Kind.ORDERED, _natural_levels(name, grid))
    return told


def _natural_levels(name: str, grid: Grid) -> tuple[Any, ...]:
    """Levels of an ordered column that were not given: as declared by the file, or in numerical order."""
    if name in grid.levels:
        return tuple(grid.levels[name])
    levels = {level_key(cell) for cell in unmark(grid.written[name]).cells if cell is not None}
    try:
        return tuple(sorted(levels, key=float))
    except ValueError:
        shown = some_of(sorted(levels), 6)
        raise InputError(
            f"column {name!r} is ordered, but the order of its values is not given ({shown}): list them, lowest "
            f"first, in kinds (--ordered '{name}:low<mid<high')"
        ) from None


def left_out_of(grid: Grid, asked: ReadOptions) -> dict[str, str]:
    """Columns excluded by the user, and the reason to report."""
    left = {
        find_column(grid.written, name, "ignore or --drop"): "excluded with ignore (--drop)" for name in asked.ignore
    }
    if asked.only:
        only = set()
        for name in asked.only:  # several names separated by commas, unless a column has that name
            parts = [name] if name in grid.written else [part.strip() for part in name.split(",")]
            only |= {find_column(grid.written, part, "--columns") for part in parts}
        left |= {name: "not listed in --columns" for name in grid.written if name not in only | left.keys()}
    return left
