"""What the columns of a frame hold, found in parts of its rows: contents of two parts give those of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fusewise.kernels.declared import Checked, Rule, Several, Word
from fusewise.kernels.types import Floats

#: Levels of a category told apart; rarer ones are pooled.
MOST_LEVELS = 50
#: Levels of a column counted in a part of the rows: of more, the most frequent ones.
MOST_COUNTED = 10_000

#: The pooled level, as it is shown.
OTHER = "(other)"

#: How the dtypes of dates and times begin, and what a user can do about such a column.
DATE_KINDS = ("date", "time", "period")
DATES = "convert it to numbers (days since a date, month, weekday) or drop it"


@dataclass(frozen=True)
class ColumnCode(Checked):
    """How a column is encoded.

    Attributes
    ----------
    name : as the frame has it, or x0, x1, ... for an array.
    kind : "number", "category", "ordered" or "flag".
    levels : of a category, in their order; empty for numbers. The last may be ``OTHER``.
    dtype : as text, for the way back.
    """

    name: str
    kind: str
    levels: tuple[Any, ...] = ()
    dtype: str = "float64"

    _rules: ClassVar = {
        "name": Word(),
        "kind": Word("number", "category", "ordered", "flag"),
        "levels": Several(Rule()),
        "dtype": Word(),
    }

    def entry(self, features: Floats) -> Any:
        """The entry that features stand for: the number, whole where the column is, or the level with most of them."""
        if self.kind == "number":
            return round(float(features[0])) if self.dtype.startswith(("int", "uint")) else float(features[0])
        known = len(self.levels) - (self.levels[-1:] == (OTHER,))  # nobody wrote "(other)"
        return self.levels[int(features[: max(known, 1)].argmax())]

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features: ``age``, or ``colour=red``, ``colour=blue``."""
        return tuple(f"{self.name}={level}" for level in self.levels) or (self.name,)


@dataclass(frozen=True, eq=False)
class ColumnContent:
    """What a column holds in some rows.

    Attributes
    ----------
    name : of the column.
    dtype : as text, in lower case.
    category : whether it is a category, by its dtype, its cells or because the user says so.
    counts : how often each level occurs; of a column that can only be numbers, nothing.
    flags : whether all levels are True or False.
    listed : the levels that the dtype lists, in their order; None if it does not.
    ordered : whether that order means something.
    """

    name: str
    dtype: str
    category: bool
    counts: Counter[Any]
    flags: bool
    listed: tuple[Any, ...] | None
    ordered: bool

    @classmethod
    def of(cls, name: str, column: Any, asked: bool | None) -> ColumnContent:
        """Look at the rows that a column has here; `asked`: whether it is a category, None by its dtype."""
        kind = kind_of(column)
        if kind.startswith(DATE_KINDS):
            raise ValueError(f"column {name!r} holds dates or times ({kind}): {DATES}")
        category = is_text_or_flag(column) if asked is None else asked
        if not category and (asked is False or kind != "object"):
            return cls(name, kind, False, Counter(), False, None, False)
        listed, ordered = _listed(column, kind)
        found = [cell for cell in cells_of(column) if cell is not None]
        if listed is None:
            odd = next((cell for cell in found if not isinstance(cell, str | bool | int | float | np.generic)), None)
            if odd is not None and category:
                raise ValueError(f"column {name!r} holds {type(odd).__name__} values, such as {odd!r}: {DATES}")
        flags = listed is None and all(isinstance(cell, bool | np.bool_) for cell in found)
        counts = Counter(plain_cell(cell) for cell in found if isinstance(cell, Hashable))
        return cls(name, kind, category, Counter(dict(counts.most_common(MOST_COUNTED))), flags, listed, ordered)

    def merged(self, later: ColumnContent) -> ColumnContent:
        """The content in these rows and in later ones."""
        listed = self.listed if later.listed is None else union(self.listed or (), later.listed)
        counts = Counter(dict((self.counts + later.counts).most_common(MOST_COUNTED)))
        decided = later if later.category and not self.category else self
        flags = (self.flags or not self.counts) and (later.flags or not later.counts)
        ordered = self.ordered or later.ordered
        return replace(decided, category=self.category or later.category, counts=counts, flags=flags, listed=listed,
                       ordered=ordered)  # fmt: skip

    @property
    def code(self) -> ColumnCode:
        """How the column is encoded."""
        if not self.category:
            return ColumnCode(self.name, "number", dtype=self.dtype)
        if self.listed is not None:
            order = {plain_cell(level): k for k, level in enumerate(self.listed)}
            levels = _frequent(self.counts, order if self.counts.keys() <= order.keys() else None)
            return ColumnCode(self.name, "ordered" if self.ordered else "category", levels, self.dtype)
        return ColumnCode(self.name, "flag" if self.flags else "category", _frequent(self.counts), self.dtype)

    def extending(self, code: ColumnCode) -> ColumnCode:
        """A code of earlier rows with the levels of these as well; beyond `MOST_LEVELS` they are pooled."""
        if (code.kind == "number") == self.category:
            was, now = ("numbers", "levels of a category") if self.category else ("levels of a category", "numbers")
            raise ValueError(f"column {self.name!r} held {was} before, and now holds {now}: convert its dtype")
        new = [level for level in self.code.levels if level != OTHER and level not in code.levels]
        if not new or code.levels[-1:] == (OTHER,):
            return code
        listed = union(code.levels, self.listed) if self.listed is not None else None
        order = {plain_cell(level): k for k, level in enumerate(listed or sorted((*code.levels, *new), key=by_value))}
        kept = (*code.levels, *sorted(new, key=lambda level: -self.counts[level]))
        levels = sorted(kept[:MOST_LEVELS], key=order.__getitem__)
        kind = code.kind if self.flags or code.kind != "flag" else "category"
        return replace(code, kind=kind, levels=(*levels, *((OTHER,) if len(kept) > MOST_LEVELS else ())))


def kind_of(column: Any) -> str:
    """The dtype in lower case: "category", "object", "string", "boolean", "datetime64[ns]", "enum", ..."""
    return str(getattr(column, "dtype", "object")).lower()


def is_text_or_flag(column: Any) -> bool:
    """Whether a column is a category by its dtype or, if it holds objects, by its cells."""
    kind = kind_of(column)
    if kind == "object":
        return any(isinstance(cell, str | bool) for cell in cells_of(column))
    return kind.startswith(("categor", "enum", "str", "utf8", "bool", *DATE_KINDS))


def cells_of(column: Any) -> list[Any]:
    """Entries as Python objects, None where missing."""
    cells = column.to_list() if hasattr(column, "to_list") else list(column)
    return [None if _is_missing(cell) else cell for cell in cells]


def plain_cell(cell: Any) -> Any:
    """A cell as a Python object."""
    return cell.item() if isinstance(cell, np.generic) else cell


def union(levels: Iterable[Any], more: Iterable[Any]) -> tuple[Any, ...]:
    """Levels in the order in which they first occur."""
    return tuple(dict.fromkeys([*levels, *more]))


def by_value(level: Any) -> tuple[str, Any]:
    """Key to sort levels of different types by."""
    return str(type(level)), level


def _is_missing(cell: Any) -> bool:
    """Whether it is None, NaN, NaT or pandas' NA (which compares to nothing)."""
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and cell != cell)


def _listed(column: Any, kind: str) -> tuple[tuple[Any, ...] | None, bool]:
    """The levels that the dtype lists, and whether their order means something; (None, False) for other dtypes."""
    if not kind.startswith(("categor", "enum")):
        return None, False
    if hasattr(column, "iloc"):
        return tuple(column.cat.categories.tolist()), bool(column.cat.ordered)
    # Of polars' two kinds only an Enum lists its levels, in their order.
    return (tuple(column.dtype.categories), True) if kind.startswith("enum") else ((), False)


def _frequent(counts: Counter[Any], order: dict[Any, int] | None = None) -> tuple[Any, ...]:
    """The levels in their order, else sorted; of too many, the most frequent, and one for the rest."""
    position = order or {level: k for k, level in enumerate(sorted(counts, key=by_value))}
    kept = sorted(counts, key=lambda level: (-counts[level], position[level]))[:MOST_LEVELS]
    rest = () if len(counts) <= MOST_LEVELS else (OTHER,)
    return (*sorted(kept, key=position.__getitem__), *rest)
