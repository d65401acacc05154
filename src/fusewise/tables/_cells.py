"""What a cell says: a number, in one of two conventions, or that a value is missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fusewise.kernels import Floats
from fusewise.support import InputError
from fusewise.tables._grid import Cells, as_cells

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
    """The cells of a column without surrounding spaces, None if missing."""

    cells: Cells
    markers: Counter[str] = field(default_factory=Counter)  # count of each marker as written; "" for empty cells
    told: frozenset[str] = frozenset()  # the markers among them that the user listed


def unmark(written: Cells, told: Collection[str] = (), levels: Collection[str] = ()) -> Unmarked:
    """Replace markers of missing values by None.

    `told` are markers listed by the user, as text; a number matches all cells of the same value. `levels` are words
    that are categories, although they look like markers.
    """
    markers: Counter[str] = Counter()
    numbers = {number for marker in told if (number := _as_float(marker)) is not None}
    known: dict[str, str | None] = {}

    def value(cell: Any) -> Any:
        if isinstance(cell, str):
            if cell not in known:
                text = cell.strip()
                asked = text in told or (bool(numbers) and _as_float(text) in numbers)
                known[cell] = None if asked or (marker_of(text) is not None and text not in levels) else text
            found = known[cell]
        else:
            found = None if numbers and not isinstance(cell, bool) and _as_float(cell) in numbers else cell
        if found is None:
            markers["" if cell is None else str(cell).strip()] += 1
        return found

    cells = as_cells([value(cell) for cell in written])
    return Unmarked(cells, markers, frozenset(word for word in markers if marker_of(word) is None or word in told))


def _as_float(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def own_levels(column: Unmarked, elsewhere: Collection[str], in_numbers: Collection[str]) -> list[str]:
    """The markers of a text column that are categories, such as "None" among air bags.

    A marker is none if it stands in columns of numbers, flags or dates (`in_numbers`) as well. A word is a category if
    missing values are marked otherwise (`elsewhere`: in the whole file), or if it is frequent; a sign or an
    abbreviation, only if they are, and it looks like the other categories.
    """
    values = [cell for cell in column.cells if cell is not None]
    if not values or not all(isinstance(cell, str) for cell in values):
        return []
    others, found = set(values), []
    for word, count in column.markers.items():
        if word == "" or word in column.told or word in in_numbers:
            continue
        marked_otherwise = any(other.lower() != word.lower() for other in elsewhere)
        if word.lower() in WORDS:
            level = marked_otherwise or count >= LEAST_SHARE * (len(values) + count)
        else:
            level = marked_otherwise and _looks_like(word, others)
        found += [word] * level
    return found


def _looks_like(word: str, others: Collection[str]) -> bool:
    if not any(map(str.isalnum, word)):
        return not any(map(str.isalnum, "".join(others)))
    alike = all(len(other) == len(word) and other.isupper() == word.isupper() and other.isalpha() for other in others)
    return alike and word.isalpha() and len(others) >= LEAST_ALIKE


CODES = "AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|INR|JPY|KRW|MXN|NOK|NZD|PLN|RUB|SEK|SGD|TRY|USD|ZAR"
CURRENCY = rf"(?:[^\W\d_]{{0,3}}[$€£¥₹₽₩₺₴₫฿¢₪₦₱]|{CODES}|[Kk]r\.?|Fr\.)"
#: One word after the number: kg, km/h, °C, m2, %; without digits except an exponent 2 or 3, to exclude codes like 4x4.
UNIT = r"(?:[^\W\d_]|[%‰°\"€$£¥])(?:[^\d\s;:<>=()]{0,11}?(?:m[23]|\^[23])|[^\d\s;:<>=()]{0,11})|m[23]"

#: Variants of spaces, apostrophes and minus signs -> the plain character.
ALIKE = str.maketrans(
    {"\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2007": " ", "’": "'", "´": "'", "−": "-", "–": "-"}
)

#: Two signs instead of decimals, as on price tags: 5,- and 5.--
NO_CENTS = re.compile(r"(?<=\d)[.,]--?(?=\D*$)")

INFINITE = re.compile(r"[-+]?inf(inity)?", re.I)

#: Minimum fraction of a column's numbers that must have a unit for it to be the unit of the column.
LEAST_UNIT_SHARE = 0.5


def _body(decimal: str, group: str) -> str:
    """Pattern of digits, ungrouped or in groups of three (in India, of two before the last three), and decimals."""
    grouped = rf"[1-9]\d{{0,2}}(?:(?P<g>[{group} '])\d{{3}})(?:(?P=g)\d{{3}})*|[1-9]\d?(?:,\d{{2}})+,\d{{3}}"
    whole = grouped if group == "," else grouped.partition("|")[0]
    return rf"(?P<body>(?:(?:{whole}|\d+)(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][-+]?\d+)?)"


def _number(body: str) -> re.Pattern[str]:
    before = rf"(?P<open>\()?(?P<sign>[-+])?(?P<before>{CURRENCY} ?)?(?P<nested>\()?(?P<inner>[-+])?"
    return re.compile(rf"{before}{body}(?P<trailing>(?<=\d)-)?(?P<after> ?(?:{UNIT}|{CURRENCY}))?(?P<close>\))?")


NUMBER = {".": _number(_body(r"\.", ",")), ",": _number(_body(",", r"\."))}

#: Anything that may be a number in either convention, to detect its decimal separator.
LOOSE = _number(r"(?P<body>[\d.,' ]*\d[\d.,' ]*(?:[eE][-+]?\d+)?)")
UNSURE = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")

#: Plain numbers, whose decimal separator is clear without parsing them in both conventions.
WHOLE = re.compile(r"[-+]?\d+")
SURE = re.compile(r"[-+]?(?:\d*[.,](?:\d\d?|\d{4,})|0?[.,]\d+)(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column read as numbers, NaN if a cell is missing or not a number."""

    values: Floats
    odd: list[int]  # rows of the cells that are not numbers
    bare: int  # count of numbers without a unit
    affix: tuple[str, str] = ("", "")  # text before and after each number: a currency, a unit or a percent sign
    units: tuple[str, ...] = ()  # most frequent first


def read_numbers(cells: Cells, decimal: str) -> Numbers:
    """Read the cells of a column (None: missing) as numbers with the given decimal separator."""
    values = plain_numbers(cells, decimal)
    if values is not None:
        return Numbers(values, [], len(cells))
    known = {cell: _parse(cell, decimal) for cell in {cell for cell in cells if isinstance(cell, str)}}
    parsed = [known[cell] if isinstance(cell, str) else _native(cell) for cell in cells]
    units = Counter(unit_of(found[1]) for found in parsed if found is not None)
    unit = _common_unit(units)
    # A number without a unit among others in kg is also in kg; among percentages it may be a fraction.
    accepted = {unit} if unit == "%" else {unit, ""}
    values, odd = np.full(len(cells), np.nan), []
    for row, (cell, found) in enumerate(zip(cells, parsed, strict=True)):
        if found is not None and unit_of(found[1]) in accepted:
            values[row] = found[0]
        elif cell is not None:
            odd.append(row)
    styles = Counter(found[1] for found in parsed if found is not None and unit_of(found[1]) == unit)
    named = tuple(unit for unit, _ in units.most_common() if unit)
    return Numbers(values, odd, units[""], styles.most_common(1)[0][0] if styles else ("", ""), named)


def _common_unit(units: Counter[str]) -> str:
    """The unit of a column: that of at least half of its numbers, or its only currency."""
    named = [(count, unit) for unit, count in units.items() if unit]
    count, unit = max(named, default=(0, ""))
    alone = len(named) == 1 and re.fullmatch(CURRENCY, unit)
    return unit if alone or count >= LEAST_UNIT_SHARE * units.total() else ""


def plain_numbers(cells: Cells, decimal: str) -> Floats | None:
    """All cells as floats if they are plain numbers; otherwise None."""
    try:
        if decimal == ",":
            if any(isinstance(cell, str) and "." in cell for cell in cells):
                return None
            cells = as_cells([cell.replace(",", ".") if isinstance(cell, str) else cell for cell in cells])
        values = cells.astype(np.float64)
    except (TypeError, ValueError):
        return None
    # Python accepts 1_000 as a number, but it rarely is one in a table.
    return None if any(isinstance(cell, str) and "_" in cell for cell in cells) else values


Found = tuple[float, tuple[str, str]]


def _native(cell: Any) -> Found | None:
    """The number in a cell that is not text; None if it is not a number."""
    value = None if isinstance(cell, bool | np.bool_) else _as_float(cell)
    return None if value is None else (value, ("", ""))


def _parse(text: str, decimal: str) -> Found | None:
    """Parse a number and the text before and after it; None if it is not a number."""
    text = NO_CENTS.sub("", text.strip().translate(ALIKE))
    if INFINITE.fullmatch(text):
        return float(text), ("", "")
    found = NUMBER[decimal].fullmatch(text)
    if found is None or not _is_sound(found):
        return None
    digits = re.sub(r"[^\d.eE+-]", "", found["body"].replace("." if decimal == "," else ",", "").replace(",", "."))
    signs = (found[name] or "" for name in ("sign", "inner", "trailing"))
    negative = bool(found["close"]) or "-" in "".join(signs)
    value = float(digits)
    return (-value if negative else value), (found["before"] or "", found["after"] or "")


def _is_sound(found: re.Match[str]) -> bool:
    """Whether parentheses are closed, and there is at most one sign; after 12- only a currency, as 12-B is a code."""
    brackets = sum(found[name] is not None for name in ("open", "nested"))
    signs = sum(found[name] is not None for name in ("sign", "inner", "trailing"))
    if found["trailing"] and (brackets or not re.fullmatch(rf"(?: ?{CURRENCY})?", found["after"] or "")):
        return False
    return brackets == (found["close"] is not None) and signs <= 1


def unit_of(affix: tuple[str, str]) -> str:
    """The unit as text, without spaces and the s of a plural."""
    unit = (affix[0] + affix[1]).replace(" ", "")
    return unit[:-1] if len(unit) > 3 and unit.endswith("s") else unit


def decimal_sign(text: str) -> str | None:
    """The decimal separator of a number: "." or ","; "" if it has none, "?" if ambiguous; None: not a number."""
    if WHOLE.fullmatch(text):
        return ""
    if SURE.fullmatch(text):
        return "." if "." in text else ","
    if UNSURE.fullmatch(text.lstrip("+-")):
        return "?"
    text = NO_CENTS.sub("", text.strip().translate(ALIKE))
    if INFINITE.fullmatch(text):
        return ""
    found = LOOSE.fullmatch(text)
    if found is None or not _is_sound(found):
        return None
    body = found["body"]
    signs = [sign for sign in body if sign in ".,"]
    if UNSURE.fullmatch(body):
        return "?"
    readable = [sign for sign in ".," if _parse(body, sign) is not None]
    if len(readable) == 2:
        return signs[0] if signs else ""
    return readable[0] if readable else None


#: Columns are considered if at least this fraction of their cells can be read as numbers in either convention.
LEAST_READABLE = 0.8

REMEDY = "set decimal='.' or decimal=',' (--decimal)"


def decide_decimal(columns: dict[str, Cells], separator: str | None) -> str:
    """The decimal separator of the numbers of a file with this field separator (None: it is not text).

    ``12.5``, ``0.125`` and ``1,234,567`` show a decimal point; ``12,5``, ``0,125`` and ``9.693,45`` a decimal comma.
    ``1.234`` and ``1,234`` are ambiguous: the sign may separate thousands. If nothing else in the file decides, it is a
    decimal separator if the same column has an integer of four digits or more without it (nobody writes both 1.234 and
    5678 for thousands), and the decimal separator is a point if fields are separated by commas; otherwise an
    ``InputError`` asks the user.
    """
    sure: dict[str, str] = {}
    unsure: dict[str, str] = {}
    for name, cells in columns.items():
        for sign, (row, text) in _signs(cells, point_seen="." in sure).items():
            where = f"{text!r} in column {name!r}, row {row}"
            if sign.startswith("?"):
                plain = text.replace(",", ".")
                unsure.setdefault(sign, f"{where} may mean {plain} or {plain.replace('.', '')}")
            else:
                sure.setdefault(sign, where)
    if len(sure) == 2:
        raise InputError(f"decimals are written in two ways: {sure['.']}, and {sure[',']}; {REMEDY}")
    if sure:
        return next(iter(sure))
    if unsure and separator != ",":
        raise InputError(f"{' and '.join(unsure.values())}, and nothing in the file decides which; {REMEDY}")
    return "," if separator == ";" else "."


def _signs(cells: Cells, *, point_seen: bool) -> dict[str, tuple[int, str]]:
    """The first row and cell of a numeric column for each sign; "?." and "?,": possibly a thousands separator."""
    plain = plain_numbers(cells, ".") is not None  # so it has no decimal commas: one cell with a point is enough
    if plain and point_seen:
        return {}
    texts = [(row, cell) for row, cell in enumerate(cells, 1) if isinstance(cell, str)]
    if not any("." in text or "," in text for _, text in texts):
        return {}
    found: dict[str, tuple[int, str]] = {}
    numbers, long = 0, False
    for row, text in texts:
        sign = decimal_sign(text)
        if sign is None:
            continue
        numbers += 1
        long = long or (sign == "" and sum(map(str.isdigit, text)) > 3)
        if sign:
            sign = f"?{next(c for c in text if c in '.,')}" if sign == "?" else sign
            found.setdefault(sign, (row, text.strip()))
            if plain and sign == ".":
                return found
    if numbers < LEAST_READABLE * len(texts):
        return {}
    return {sign[-1] if long else sign: example for sign, example in found.items()}
