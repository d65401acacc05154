"""Markers of missing values, and the cases in which such a word is a category.

A marker made of letters can be a category of its column: ``None`` among kinds of air bags, ``none`` among answers,
``NA`` among country codes. It is kept as a category if three conditions hold:

1. The column contains text otherwise, and the word is not a marker in a column of numbers, flags or dates.
2. ``none`` and ``nil``: the file also has other markers (such as empty cells), or the word is in at least 5% of the
   column's cells. Any other marker: the file also has other markers, and this one looks like the other categories:
   three or more of them, of the same length and case (``NA`` among ``DE``, ``US``, ``FR``), or signs only (``-`` with
   ``+``).
3. The user has not listed it as a marker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from fusewise.tables.grids import Cells, as_cells

#: Markers of a missing value, including spreadsheet errors; case and surrounding spaces are ignored.
MARKERS = frozenset(
    {"", "na", "n/a", "n.a.", "nan", "nat", "null", "(null)", "none", "nil", "?", "-", "--", "---", ".", "..", "<na>",
     "\\n", "#n/a", "#n/a n/a", "#na", "#null!", "#div/0!", "#value!", "#ref!", "#num!", "#name?"}
)  # fmt: skip

#: Markers that are words, and therefore more likely to be categories.
WORDS = frozenset({"none", "nil"})

LONGEST = max(map(len, MARKERS))

#: A word in this fraction of a column is a category even if nothing else in the file is missing.
LEAST_SHARE = 0.05

#: Minimum number of similar categories for a short marker to be one of them.
LEAST_ALIKE = 3


def marker_of(text: str) -> str | None:
    """The marker in a cell, in lower case; None if the cell is a value."""
    # The length is checked first, which is faster for most cells. "Na" is sodium.
    if len(text) > LONGEST or text == "Na":
        return None
    lower = text.lower()
    return lower if lower in MARKERS else None


@dataclass(frozen=True, eq=False)
class Unmarked:
    """A column with its markers removed.

    Attributes
    ----------
    cells : without surrounding spaces; None if missing.
    markers : count of each marker as written; "" for empty cells.
    told : markers listed by the user.
    """

    cells: Cells
    markers: Counter[str] = field(default_factory=Counter)
    told: frozenset[str] = frozenset()


def unmark(written: Cells, told: Collection[str] = (), levels: Collection[str] = ()) -> Unmarked:
    """Replace the markers in a column by None.

    Parameters
    ----------
    told : markers listed by the user, as text; a number matches a cell of the same value.
    levels : words that are categories, although they look like markers.
    """
    markers: Counter[str] = Counter()
    numbers = {float(marker) for marker in told if _is_float(marker)}
    known: dict[str, str | None] = {}

    def value(cell: Any) -> Any:
        if cell is None:
            markers[""] += 1
            return None
        if not isinstance(cell, str):
            if numbers and not isinstance(cell, bool) and _is_float(cell) and float(cell) in numbers:
                markers[str(cell)] += 1
                return None
            return cell
        if cell not in known:
            text = cell.strip()
            asked = text in told or (bool(numbers) and _is_float(text) and float(text) in numbers)
            known[cell] = None if asked or (marker_of(text) is not None and text not in levels) else text
        if known[cell] is None:
            markers[cell.strip()] += 1
        return known[cell]

    cells = as_cells([value(cell) for cell in written])
    return Unmarked(cells, markers, frozenset(word for word in markers if marker_of(word) is None or word in told))


def _is_float(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def own_levels(column: Unmarked, elsewhere: Collection[str], in_numbers: Collection[str]) -> list[str]:
    """The markers of a text column that are categories; see the rules in the module docstring.

    Parameters
    ----------
    elsewhere : all markers of the file.
    in_numbers : markers in its columns of numbers, flags and dates.
    """
    values = [cell for cell in column.cells if cell is not None]
    if not values or not all(isinstance(cell, str) for cell in values):
        return []
    others, filled = set(values), len(values)
    found = []
    for word, count in column.markers.items():
        if word == "" or word in column.told or word in in_numbers:
            continue
        marked_otherwise = any(other.lower() != word.lower() for other in elsewhere)
        if word.lower() in WORDS:
            level = marked_otherwise or count >= LEAST_SHARE * (filled + count)
        else:
            level = marked_otherwise and _looks_like(word, others)
        if level:
            found.append(word)
    return found


def _looks_like(word: str, others: Collection[str]) -> bool:
    if not any(map(str.isalnum, word)):
        return not any(map(str.isalnum, "".join(others)))
    alike = all(len(other) == len(word) and other.isupper() == word.isupper() and other.isalpha() for other in others)
    return alike and word.isalpha() and len(others) >= LEAST_ALIKE
