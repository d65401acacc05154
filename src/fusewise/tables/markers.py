"""What stands for a missing value, and when such a word is a value of its own.

A marker made of letters can be one of a column's own levels: ``None`` among kinds of air bags, ``none`` among answers,
``NA`` among country codes. It stays a level if three things hold:

1. The column is text otherwise, and the same word marks no missing value in a column of numbers, flags or dates.
2. ``none`` and ``nil``: the file marks missing values in another way too (such as empty cells), or the word fills at
   least a twentieth of the column's cells. Any other marker: the file marks missing values in another way too, and the
   marker looks like the other levels: three or more of them, all of its length and its capitals (``NA`` among ``DE``,
   ``US``, ``FR``), or signs only (``-`` beside ``+``).
3. The user has not named it as a marker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from fusewise.tables.grids import Cells, as_cells

#: Markers in any mixture of capitals, blanks around them ignored. Spreadsheet errors are among them.
MARKERS = frozenset(
    {"", "na", "n/a", "n.a.", "nan", "nat", "null", "(null)", "none", "nil", "?", "-", "--", "---", ".", "..", "<na>",
     "\\n", "#n/a", "#n/a n/a", "#na", "#null!", "#div/0!", "#value!", "#ref!", "#num!", "#name?"}
)  # fmt: skip

#: Markers that are words, and so likelier to be levels.
WORDS = frozenset({"none", "nil"})

LONGEST = max(map(len, MARKERS))

#: A word that fills this share of a column is one of its levels even if nothing else in the file is missing.
LEAST_SHARE = 0.05

#: Levels that a short marker must look like before it is taken for one of them.
LEAST_ALIKE = 3


def marker_of(text: str) -> str | None:
    """The marker that a cell is; None for a value."""
    # The length first: most cells of a wide table need no further look. "Na" is sodium.
    if len(text) > LONGEST or text == "Na":
        return None
    lower = text.lower()
    return lower if lower in MARKERS else None


@dataclass(frozen=True, eq=False)
class Unmarked:
    """A column without its markers.

    Attributes
    ----------
    cells : stripped of blanks; None where missing.
    markers : how often each marker occurs, as it is written; "" for empty cells.
    told : those of them that the user named.
    """

    cells: Cells
    markers: Counter[str] = field(default_factory=Counter)
    told: frozenset[str] = frozenset()


def unmark(written: Cells, told: Collection[str] = (), levels: Collection[str] = ()) -> Unmarked:
    """Take the markers out of a column.

    Parameters
    ----------
    told : markers that the user named, as text; a number matches a cell of the same value.
    levels : words that are values, though they look like markers.
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
    """The markers of a text column that are levels of its own; see the top of this module.

    Parameters
    ----------
    elsewhere : all markers of the file.
    in_numbers : markers of its columns of numbers, flags and dates.
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
