"""The kinds of columns, and the description of a column."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from fusewise.kernels import Floats


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


#: Words of flags, in lower case; the alphabet puts the one that means "no" first.
FLAGS = ({"false", "true"}, {"no", "yes"}, {"n", "y"}, {"f", "t"}, {"off", "on"}, {"0", "1"})


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

    @property
    def is_boolean(self) -> bool:
        """Whether it is a flag whose words mean no and yes."""
        return self.kind == Kind.FLAG and {str(category).lower() for category in self.categories} in FLAGS

    @property
    def levels(self) -> tuple[Any, ...]:
        """The values that entries have in a frame: False and True, or the categories."""
        return (False, True) if self.is_boolean else self.categories

    @property
    def entries(self) -> list[Any]:
        """Numbers or levels, None if missing."""
        missing = np.isnan(self.values)
        if self.kind == Kind.NUMBER:
            entries = self.values.astype(object)
            entries[missing] = None
            return list(entries)
        known = np.empty(len(self.categories) + 1, dtype=object)
        known[:-1] = self.levels
        return list(known[np.where(missing, -1, self.values).astype(int)])
