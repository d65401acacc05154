"""What each column of a table is: a number, a category, an ordered one or a flag, and its levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fusewise.support.records import InputError
from fusewise.support.words import counted, some_of
from fusewise.tables.column_codes import OTHER, ColumnCode, plain
from fusewise.tables.column_kinds import Column
from fusewise.tables.frames import DATE_KINDS, dtype_of, entries_of, is_text_or_flag

#: Levels of a category told apart; rarer ones are pooled.
MOST_LEVELS = 50
#: Values of a text that may be names of rows: with fewer, that most differ means little.
FEWEST_NAMES = 20
#: Levels of a column that are counted: of more, the most frequent ones.
MOST_COUNTED = 10_000

#: What a user can do about a column of dates.
DATES = "convert it to numbers (days since a date, month, weekday) or drop it"


def asked_positions(features: Any, names: Sequence[str]) -> set[int] | None:
    """Positions of the columns named as categories; None: by their dtypes.

    Parameters
    ----------
    features : the parameter ``categorical_features``.
    names : names of the columns.
    """
    if isinstance(features, str):
        if features != "from_dtype":
            raise InputError(f"categorical_features={features!r}: use 'from_dtype', a mask, indices or names")
        return None
    try:
        given = np.asarray([] if features is None else list(features))
    except (TypeError, ValueError):  # one number or object, or lists of several lengths
        given = np.zeros(())
    integers = given.dtype.kind in "iu" or not given.size
    if given.ndim != 1 or not (integers or given.dtype.kind in "bUO"):
        raise InputError(f"categorical_features={features!r}: use 'from_dtype', a mask, indices or names")
    if given.dtype == bool:
        if len(given) != len(names):
            raise InputError(f"categorical_features is a mask of {len(given)} for {counted(len(names), 'column')}")
        return set(np.flatnonzero(given).tolist())
    if given.dtype.kind in "UO":
        unknown = [name for name in given.tolist() if name not in names]
        if unknown:
            raise InputError(f"categorical_features names {unknown[0]!r}, which is not a column: {some_of(names)}")
        return {names.index(name) for name in given.tolist()}
    outside = [j for j in given.tolist() if not -len(names) <= j < len(names)]
    if outside:
        raise InputError(f"categorical_features has index {outside[0]}, and there are {counted(len(names), 'column')}")
    return {j % len(names) for j in given.tolist()}


def code_of(name: str, column: Column, asked: bool | None) -> ColumnCode:
    """How a column of a file is encoded.

    Parameters
    ----------
    name : its name.
    column : one of ``columns_of``.
    asked : whether it is said to be a category; None: by its dtype.
    """
    if not (is_text_or_flag(column) if asked is None else asked):
        return ColumnCode(name, "number", dtype="float64")
    return _from_file(name, column, [plain(entry) for entry in entries_of(column) if entry is not None])


@dataclass(frozen=True, eq=False)
class ColumnContent:
    """What a column of a frame or an array holds in some rows; contents of two groups of rows give that of both.

    Attributes
    ----------
    name : of the column.
    dtype : as text, in lower case.
    category : whether it is a category, by its dtype, its entries or because the user says so.
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
        """Look at the rows that a column has here; `asked` is that of ``code_of``."""
        dtype = dtype_of(column)
        if dtype.startswith(DATE_KINDS):
            raise InputError(f"column {name!r} holds dates or times ({dtype}): {DATES}")
        category = is_text_or_flag(column) if asked is None else asked
        if not category and (asked is False or dtype != "object"):
            return cls(name, dtype, False, Counter(), False, None, False)
        listed, ordered = _declared(column, dtype)
        entries = [plain(entry) for entry in entries_of(column) if entry is not None]
        odd = next((entry for entry in entries if not isinstance(entry, str | bool | int | float)), None)
        if odd is not None and listed is None:
            if not category:
                return cls(name, dtype, False, Counter(), False, None, False)
            raise InputError(f"column {name!r} holds {type(odd).__name__} values, such as {odd!r}: {DATES}")
        flags = listed is None and all(isinstance(entry, bool) for entry in entries)
        return cls(name, dtype, category, _bounded(Counter(entries)), flags, listed, ordered)

    def merged(self, later: ColumnContent) -> ColumnContent:
        """The content in these rows and in later ones."""
        listed = self.listed if later.listed is None else (*dict.fromkeys((*(self.listed or ()), *later.listed)),)
        decided = later if later.category and not self.category else self
        flags = (self.flags or not self.counts) and (later.flags or not later.counts)
        return replace(
            decided,
            category=self.category or later.category,
            counts=_bounded(self.counts + later.counts),
            flags=flags,
            listed=listed,
            ordered=self.ordered or later.ordered,
        )

    @property
    def is_identifier(self) -> bool:
        """Whether a text has too many values for a category, by the rule for files; lists of levels are as meant."""
        distinct, seen = len(self.counts), self.counts.total()
        text = self.category and self.listed is None and any(isinstance(level, str) for level in self.counts)
        return text and distinct >= FEWEST_NAMES and distinct > min(MOST_LEVELS, seen // 2)

    @property
    def code(self) -> ColumnCode:
        """How the column is encoded."""
        if not self.category:
            return ColumnCode(self.name, "number", dtype=self.dtype)
        if self.listed is not None:
            order = {plain(level): k for k, level in enumerate(self.listed)}
            levels = frequent(self.counts, order if self.counts.keys() <= order.keys() else None)
            return ColumnCode(self.name, "ordered" if self.ordered else "category", levels, self.dtype)
        return ColumnCode(self.name, "flag" if self.flags else "category", frequent(self.counts), self.dtype)

    def extending(self, code: ColumnCode) -> ColumnCode:
        """A code of earlier rows with the levels of these as well; beyond `MOST_LEVELS` they are pooled."""
        if (code.kind == "number") == self.category:
            was, now = ("numbers", "levels of a category") if self.category else ("levels of a category", "numbers")
            raise InputError(f"column {self.name!r} held {was} before, and now holds {now}: convert its dtype")
        new = [level for level in self.code.levels if level != OTHER and level not in code.levels]
        if not new or code.levels[-1:] == (OTHER,):
            return code
        listed = sorted((*code.levels, *new), key=_by_value) if self.listed is None else (*code.levels, *self.listed)
        order = {plain(level): k for k, level in enumerate(dict.fromkeys(listed))}
        kept = (*code.levels, *sorted(new, key=lambda level: -self.counts[level]))
        levels = sorted(kept[:MOST_LEVELS], key=order.__getitem__)
        kind = code.kind if self.flags or code.kind != "flag" else "category"
        return replace(code, kind=kind, levels=(*levels, *((OTHER,) if len(kept) > MOST_LEVELS else ())))


def _from_file(name: str, column: Column, entries: list[Any]) -> ColumnCode:
    """A column of a file; its levels are those that a frame of it would have."""
    levels = frequent(entries, {level: k for k, level in enumerate(column.levels)})
    spelling = dict(zip(column.levels, column.categories, strict=True))
    words = tuple(spelling[level] for level in levels) if column.is_boolean else ()
    return ColumnCode(name, str(column.kind), levels, "object", words)


def _declared(column: Any, dtype: str) -> tuple[tuple[Any, ...] | None, bool]:
    """The levels that the dtype of a column lists, and whether they are ordered; None if it is another dtype."""
    if not dtype.startswith(("categor", "enum")):
        return None, False
    if hasattr(column, "iloc"):
        return tuple(column.cat.categories.tolist()), bool(column.cat.ordered)
    # Of polars' two kinds only an Enum lists its levels, in their order.
    return (tuple(column.dtype.categories), True) if dtype.startswith("enum") else ((), False)


def _bounded(counts: Counter[Any]) -> Counter[Any]:
    return counts if len(counts) <= MOST_COUNTED else Counter(dict(counts.most_common(MOST_COUNTED)))


def _by_value(level: Any) -> tuple[str, Any]:
    """Key to sort levels of several types by."""
    return str(type(level)), level


def frequent(entries: Iterable[Any], order: dict[Any, int] | None = None) -> tuple[Any, ...]:
    """The levels that occur, in their order or else sorted; of too many, the most frequent, and one for the rest."""
    counts = Counter(entries)
    position = order or {level: k for k, level in enumerate(sorted(counts, key=_by_value))}
    kept = sorted(counts, key=lambda level: (-counts[level], position[level]))[:MOST_LEVELS]
    rest = () if len(counts) <= MOST_LEVELS else (OTHER,)
    return (*sorted(kept, key=position.__getitem__), *rest)
