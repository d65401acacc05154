"""The kinds of columns, and the description of a column."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from fusewise.kernels.types import Floats


class Kind(StrEnum):
    """The kind of a column; the first four can be used for clustering."""

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


#: Kinds that can be used for clustering.
USABLE = frozenset({Kind.NUMBER, Kind.CATEGORY, Kind.ORDERED, Kind.FLAG})


@dataclass(frozen=True, eq=False)
class Column:
    """A column and how it was read.

    Attributes
    ----------
    name, kind : its name in the file, and its kind.
    values : numbers, or positions in `categories`; NaN if missing. Empty for kinds that cannot be used.
    categories : the categories as the user spelled them, lowest first; empty for numbers.
    used : whether it is used for clustering.
    why : how it was read, or why it is not used.
    affix : text before and after each number: a currency, a unit or a percent sign.
    missing : words treated as missing values in this column only.
    """

    name: str
    kind: Kind
    values: Floats = field(default_factory=lambda: np.empty(0))
    categories: tuple[Any, ...] = ()
    used: bool = True
    why: str = ""
    affix: tuple[str, str] = ("", "")
    missing: tuple[str, ...] = ()
