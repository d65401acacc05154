"""What a cell says: a number, in one of two conventions, what is known of one, or that a value is missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Floats
from fusewise.support import InputError, some_of
from fusewise.tables._grid import Cells, as_cells

#: Markers of a missing value, including spreadsheet errors; case and surrounding spaces are ignored.
MARKERS = frozenset(
    {"", "na", "n/a", "n.a.", "nan", "nat", "null", "(null)", "none", "nil", "?", "-", "--", "---", ".", "..", ":",
     "<na>", "\\n", "#n/a", "#n/a n/a", "#na", "#null!", "#div/0!", "#value!", "#ref!", "#num!", "#name?"}
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


def _number(decimal: str, group: str) -> re.Pattern[str]:
    """Pattern of digits, ungrouped or in groups of three (in India, of two before the last three), and decimals."""
    whole = rf"[1-9]\d{{0,2}}(?:(?P<g>[{group} '])\d{{3}})(?:(?P=g)\d{{3}})*"
    whole += r"|[1-9]\d?(?:,\d{2})+,\d{3}" if group == "," else ""
    body = rf"(?P<body>(?:(?:{whole}|\d+)(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][-+]?\d+)?)"
    before = rf"(?P<open>\()?(?P<sign>[-+])?(?P<before>{CURRENCY} ?)?(?P<nested>\()?(?P<inner>[-+])?"
    return re.compile(rf"{before}{body}(?P<trailing>(?<=\d)-)?(?P<after> ?(?:{UNIT}|{CURRENCY}))?(?P<close>\))?")


NUMBER = {".": _number(r"\.", ","), ",": _number(",", r"\.")}

#: Numbers whose decimal separator is clear without reading them in both conventions.
SURE = re.compile(r"[-+]?(?:\d*[.,](?:\d\d?|\d{4,}|\d+(?=[eE]))|0?[.,]\d+)(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, eq=False)
class HalfKnown:
    """What is known of the entries of a column that are not known exactly.

    Attributes
    ----------
    error : standard error of each entry, 0 where there is none.
    lower, upper : bounds of each entry that is NaN, infinite where nothing bounds it; an upper one is NaN where the
        cell has a word such as "<LOD", for a limit that the file does not say.
    said : whether the cell says so, or else the user.
    words : what was read, in words.
    """

    error: Floats
    lower: Floats
    upper: Floats
    said: npt.NDArray[np.bool_]
    words: str = ""

    @classmethod
    def nothing(cls, n_rows: int) -> HalfKnown:
        """Nothing is known of so many entries."""
        free = np.full(n_rows, np.inf)
        return cls(np.zeros(n_rows), -free, free, np.zeros(n_rows, bool))

    @classmethod
    def of(cls, cells: Cells, parsed: list[Found | None]) -> HalfKnown | None:
        """What the cells of a column say; None if all are numbers or missing."""
        rows = [(row, found) for row, found in enumerate(parsed) if found is not None and found.is_half]
        if not rows:
            return None
        made = cls.nothing(len(cells))
        examples: dict[str, list[str]] = {}
        for row, found in rows:
            made.error[row], made.lower[row], made.upper[row] = found.error, found.lower, found.upper
            made.said[row] = np.isnan(found.value)
            examples.setdefault(found.kind, []).append(str(cells[row]))
        listed = [
            f"{len(of):,} {kind}" + (f" such as {of[0]!r}" if kind in (RANGE, ERROR, LIMIT) else "")
            for kind, of in sorted(examples.items(), key=lambda kind: -len(kind[1]))
        ]
        return replace(made, words=some_of(listed, 4))


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column read as numbers, NaN if a cell is missing, not a number, or only bounded."""

    values: Floats
    odd: list[int]  # rows of the cells that are not numbers
    bare: int  # count of numbers without a unit
    affix: tuple[str, str] = ("", "")  # text before and after each number: a currency, a unit or a percent sign
    units: tuple[str, ...] = ()  # most frequent first
    half: HalfKnown | None = None


def read_numbers(cells: Cells, decimal: str, *, told: bool = False) -> Numbers:
    """Read the cells of a column (None: missing) as numbers with the given decimal separator.

    Bounds, ranges and errors are read if the other cells are numbers, or if the user says so (`told`).
    """
    values = plain_numbers(cells, decimal)
    if values is not None:
        return Numbers(values, [], len(cells))
    texts = {cell for cell in cells if isinstance(cell, str)}
    known = {text: _parse(text, decimal) or _half(text, decimal) for text in texts}
    parsed = [known[cell] if isinstance(cell, str) else _native(cell) for cell in cells]
    if not (told or _are_measured(parsed)):
        parsed = [None if found is None or found.is_half else found for found in parsed]
    units = Counter(unit_of(found.affix) for found in parsed if found is not None)
    unit = _common_unit(units)
    # A number without a unit among others in kg is also in kg; among percentages it may be a fraction.
    accepted = {unit} if unit == "%" else {unit, ""}
    parsed = [None if found is None or unit_of(found.affix) not in accepted else found for found in parsed]
    values = np.array([np.nan if found is None else found.value for found in parsed])
    odd = [row for row, found in enumerate(parsed) if found is None and cells[row] is not None]
    styles = Counter(found.affix for found in parsed if found is not None and unit_of(found.affix) == unit)
    named = tuple(unit for unit, _ in units.most_common() if unit)
    affix = styles.most_common(1)[0][0] if styles else ("", "")
    return Numbers(values, odd, units[""], affix, named, HalfKnown.of(cells, parsed))


def _are_measured(parsed: list[Found | None]) -> bool:
    """Whether bounds, ranges and errors are those of measurements, and not names of groups.

    There must be `LEAST_EXACT` different values beside them; and if there are ranges (10-20, but also 2010-2011), at
    least as many cells with a value as with a range.
    """
    found = [one for one in parsed if one is not None]
    exact = [one.value for one in found if not np.isnan(one.value)]
    ranges = sum(one.kind == RANGE for one in found)
    return len(exact) >= ranges and len(set(exact)) >= LEAST_EXACT


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


#: How cells that are known in part are counted.
RANGE, ERROR, LIMIT = "in a range", "with an error", "below a limit"
#: Number of different values beside bounds and ranges that make their column one of measurements.
LEAST_EXACT = 3

BELOW, ABOVE = "(?:<=?|≤|less than|under|below|up to)", "(?:>=?|≥|more than|over|above|at least)"
BOUND = re.compile(rf"(?:(?P<below>{BELOW})|(?P<above>{ABOVE}))\s*(?P<number>.*\d.*)", re.I)
OPEN_ENDED = re.compile(
    r"(?P<number>.*\d.*?)\s*(?:\+|(?:and|or) (?:(?P<below>under|less|below)|over|more|above))", re.I
)
WITH_ERROR = re.compile(
    r"(?P<number>.*\d.*?)\s*(?:±|\+/?-)\s*(?P<error>.+)|(?P<value>.*\d)\s+\((?P<sd>[\d.,]+)\)(?P<unit>.*)"
)
BETWEEN = re.compile(r"(?<=[^\s(])\s*(?:-|\bto\b)\s*")
#: Words of laboratories for a value that is too small to be measured, in lower case and without spaces.
UNDETECTED = re.compile(
    r"<?l?lo[dq]|<(?:l[dq]|m?dl)|bdl|bl?o?q|bql|n\.?d\.?|(?:not|un)detect(?:ed|able)|below(?:lo[dq]|detection(?:limit)?)"
)


class Found(NamedTuple):
    """What a cell says of a number: its value, or else (NaN) its bounds; an upper bound of NaN is an unknown limit."""

    value: float
    affix: tuple[str, str] = ("", "")
    error: float = 0.0
    lower: float = -np.inf
    upper: float = np.inf

    @property
    def is_half(self) -> bool:
        """Whether the number is not known exactly."""
        return self.error > 0 or self.lower > -np.inf or self.upper != np.inf

    @property
    def kind(self) -> str:
        """What is known, in words that follow a count."""
        if self.error or np.isnan(self.upper):
            return ERROR if self.error else LIMIT
        if np.isinf(self.lower):
            return f"below {self.upper:g}"
        return f"above {self.lower:g}" if np.isinf(self.upper) else RANGE


def _half(text: str, decimal: str) -> Found | None:
    """What a cell that is not a number says of one: <0.05, 200+, 10-20, 5.1 ± 0.2; None if it is none of these."""
    text = text.strip().translate(ALIKE)
    if UNDETECTED.fullmatch(text.replace(" ", "").lower()):
        return Found(np.nan, upper=np.nan)
    if not any(map(str.isdecimal, text)):
        return None
    if found := BOUND.fullmatch(text) or OPEN_ENDED.fullmatch(text):
        limit = _parse(found["number"], decimal)
        if limit is None or np.isinf(limit.value):
            return None
        below = limit._replace(value=np.nan, upper=limit.value)
        return below if found["below"] else limit._replace(value=np.nan, lower=limit.value)
    if found := WITH_ERROR.fullmatch(text):
        number = found["number"] or found["value"] + found["unit"]
        value, error = _parse(number, decimal), _parse(found["error"] or found["sd"], decimal)
        both = _with_one_unit(value, error)
        return both and both[0]._replace(error=both[1].value) if both and both[1].value > 0 else None
    for between in BETWEEN.finditer(text):
        both = _with_one_unit(_parse(text[: between.start()], decimal), _parse(text[between.end() :], decimal))
        if both and both[0].value < both[1].value:
            return both[0]._replace(value=np.nan, lower=both[0].value, upper=both[1].value)
    return None


def _with_one_unit(one: Found | None, other: Found | None) -> tuple[Found, Found] | None:
    """Two numbers with the unit that one or both of them have; None if one is none or infinite, or the units differ."""
    if one is None or other is None or np.isinf(one.value + other.value):
        return None
    affix = one.affix if any(one.affix) else other.affix
    same = all(found.affix in (affix, ("", "")) for found in (one, other))
    return (one._replace(affix=affix), other) if same else None


def _native(cell: Any) -> Found | None:
    """The number in a cell that is not text; None if it is not a number."""
    value = None if isinstance(cell, bool | np.bool_) else _as_float(cell)
    return None if value is None else Found(value)


def _parse(text: str, decimal: str) -> Found | None:
    """Parse a number and the text before and after it; None if it is not a number."""
    text = NO_CENTS.sub("", text.strip().translate(ALIKE))
    if INFINITE.fullmatch(text):
        return Found(float(text))
    found = NUMBER[decimal].fullmatch(text)
    if found is None:
        return None
    # Parentheses are closed, and there is at most one sign; after 12- only a currency, as 12-B is a code.
    brackets = sum(found[name] is not None for name in ("open", "nested"))
    signs = "".join(found[name] or "" for name in ("sign", "inner", "trailing"))
    code = found["trailing"] and (brackets or not re.fullmatch(rf"(?: ?{CURRENCY})?", found["after"] or ""))
    if code or brackets != (found["close"] is not None) or len(signs) > 1:
        return None
    digits = re.sub(r"[^\d.eE+-]", "", found["body"].replace("." if decimal == "," else ",", "").replace(",", "."))
    value = float(digits)
    return Found(-value if brackets or signs == "-" else value, (found["before"] or "", found["after"] or ""))


def unit_of(affix: tuple[str, str]) -> str:
    """The unit as text, without spaces and the s of a plural."""
    unit = (affix[0] + affix[1]).replace(" ", "")
    return unit[:-1] if len(unit) > 3 and unit.endswith("s") else unit


def decimal_sign(text: str) -> str | None:
    """The decimal separator of a number: "." or ","; "" if it has none, "?" if ambiguous; None: not a number."""
    if SURE.fullmatch(text):  # most numbers with decimals
        return "." if "." in text else ","
    for read in (_parse, _half):
        found = {sign: read(text, sign) for sign in ".,"}
        readable = [sign for sign, number in found.items() if number is not None]
        if len(readable) == 1:
            return readable[0]
        if readable:
            return "" if found["."] == found[","] else "?"
    return None


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
        for sign, (row, text) in _signs(cells).items():
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


def _signs(cells: Cells) -> dict[str, tuple[int, str]]:
    """The first row and cell of a numeric column for each sign; "?." and "?,": possibly a thousands separator."""
    plain = plain_numbers(cells, ".") is not None  # so it has no decimal commas: one cell with a point is enough
    texts = [(row, cell) for row, cell in enumerate(cells, 1) if isinstance(cell, str)]
    if not any("." in text or "," in text for _, text in texts):
        return {}
    found: dict[str, tuple[int, str]] = {}
    between: dict[str, tuple[int, str]] = {}
    numbers, long = 0, False
    for row, text in texts:
        sign = decimal_sign(text)
        if sign is None:
            continue
        numbers += 1
        long = long or (sign == "" and sum(map(str.isdigit, text)) > 3)
        if sign:
            sign = f"?{next(c for c in text if c in '.,')}" if sign == "?" else sign
            # An income of 25,000-49,999 beside one of 150000 is no decimal comma: only numbers are written in one way.
            is_number = _parse(text, ".") or _parse(text, ",")
            (found if is_number else between).setdefault(sign, (row, text.strip()))
            if plain and sign == ".":
                return found
    if numbers < LEAST_READABLE * len(texts):
        return {}
    return between | {sign[-1] if long else sign: example for sign, example in found.items()}
