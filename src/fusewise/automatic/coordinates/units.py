"""The scale on which rows are clustered: the columns that vary, in units of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fusewise.automatic.coordinates.level_blocks import LevelBlock, Levels
from fusewise.automatic.coordinates.symmetric import Powers
from fusewise.kernels import field_rules
from fusewise.kernels.checked import Checked, Record
from fusewise.kernels.field_rules import Array, Maybe
from fusewise.kernels.types import Index, Real, Values
from fusewise.observations import InMemory, Table
from fusewise.observations.checks import refuse_tiny


@dataclass(frozen=True, eq=False)
class Units(Checked):
    """z = (x - middle) / scale in the columns that vary, or a power of it.

    Attributes
    ----------
    columns : V, those that vary; z has no others.
    scale, middle : P, the standard deviation of each column (1 for those that do not vary), and its mean.
    powers : those of the varying columns, if they were made symmetric.
    """

    columns: Index
    scale: Real
    middle: Values
    powers: Powers | None = None

    _rules: ClassVar = {
        "columns": field_rules.Index("V", below="P"),
        "scale": Array("P", low=0),
        "middle": Array("P", kinds="fc"),
        "powers": Maybe(Record(Powers, V="V")),
    }

    def _verify(self) -> None:
        if np.any(self.scale == 0):
            raise ValueError("Units.scale has a column of zero")

    def scaled(self, rows: InMemory) -> InMemory:
        """(x - middle) / scale of the rows of a table."""
        return rows.standardised(self.columns, self.scale, self.middle)

    def applied(self, rows: InMemory) -> InMemory:
        """The z of the rows of a table."""
        return self.made_symmetric(self.scaled(rows))

    def made_symmetric(self, rows: InMemory) -> InMemory:
        """The z of rows that are scaled already."""
        return rows if self.powers is None else self.powers.applied(rows)

    def log_slopes(self, scaled: InMemory) -> Real | float:
        """By what the log-density of rows that are scaled already exceeds that of their z."""
        return 0.0 if self.powers is None else self.powers.log_slopes(scaled)

    def undone(self, rows: Values) -> Values:
        """The rows of the table of some z; columns that do not vary have their mean."""
        whole = np.repeat(self.middle[None], len(rows), axis=0)
        scaled = rows if self.powers is None else self.powers.undone(rows)
        whole[:, self.columns] += scaled * self.scale[self.columns]
        return whole


def varying_columns(table: Table) -> tuple[Index, Real]:
    """The columns that vary (all, if none does), and the standard deviation of each column, 1 for the others."""
    deviations = np.sqrt(table.column_variances)
    # A constant that is not an exact binary fraction varies in its last digits: that is rounding, not data.
    rounding = 100 * float(np.finfo(table.dtype).eps) * np.abs(table.column_means)
    columns = np.flatnonzero(deviations > rounding)
    scale = np.ones(len(deviations))
    scale[columns] = deviations[columns]
    return (columns if len(columns) else np.arange(len(deviations))), scale


def units_of(table: Table, levels: Levels) -> tuple[Units, Levels]:
    """The units of a table, and the blocks of levels among the columns that vary.

    Numbers have their standard deviation and mean; the levels of a category share one scale, by which the category as
    a whole has the variance of one number, and are not centred.
    """
    refuse_tiny(table)
    columns, scale = varying_columns(table)
    middle = table.column_means.copy()
    # A level that no row has (one of earlier rows of a stream) has no logarithm of its share.
    never = np.zeros(len(middle), bool)
    for start, stop, _ in levels:
        never[start:stop] = middle[start:stop] == 0
    columns = columns[~never[columns]] if not never[columns].all() else columns
    blocks = []
    for start, stop, ordered in levels:
        inside = columns[(columns >= start) & (columns < stop)]
        if table.column_counts[inside].any():  # else it says nothing
            scale[inside] = np.sqrt(table.column_variances[inside].sum()) or 1.0  # a single level
            middle[inside] = 0
            first = int(np.searchsorted(columns, inside[0]))
            blocks.append(LevelBlock(first, first + len(inside), ordered))
    return Units(columns, scale, middle), tuple(blocks)
