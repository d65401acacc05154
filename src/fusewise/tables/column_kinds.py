"""The kinds of columns, and the record of how one column was read."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from fusewise.tables.numbers import Floats


class Kind(StrEnum):
    """What a column is; the first four can be clustered by."""

    NUMBER = "number"
    CATEGORY = "category"
    ORDERED = "ordered"
    FLAG = "flag"
    DATE = "date"
    IDENTIFIER = "identifier"
    TEXT = "text"
    CONSTANT = "constant"
    EMPTY = "empty"
    LABEL = "label"


#: Kinds that can be clustered by.
USABLE = frozenset({Kind.NUMBER, Kind.CATEGORY, Kind.ORDERED, Kind.FLAG})


@dataclass(frozen=True, eq=False)
class Column:
    """How a column was read.

    Attributes
    ----------
    name : in the file.
    kind : what it is.
    values : numbers, or the position of each cell's level in `categories`; NaN where missing. Empty for other kinds.
    categories : the levels in the user's spelling, the lowest first; empty for numbers.
    used : whether to cluster by it.
    why : how it was read, or why it is not used.
    affix : what is written before and after each number: a currency, a unit, a percent sign.
    missing : words that are not markers elsewhere and were taken as missing values here.
    """

    name: str
    kind: Kind
    values: Floats = field(default_factory=lambda: np.empty(0))
    categories: tuple[Any, ...] = ()
    used: bool = True
    why: str = ""
    affix: tuple[str, str] = ("", "")
    missing: tuple[str, ...] = ()
