"""Reading numbers with currencies, percent signs, units, thousands separators, parentheses and decimal commas."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from fusewise.kernels import Floats
from fusewise.tables.grids import Cells, as_cells

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
    """A column read as numbers.

    Attributes
    ----------
    values : NaN if a cell is missing or not a number.
    odd : rows of the cells that are not numbers.
    bare : count of numbers without a unit.
    units : the units of the numbers, most frequent first.
    affix : text before and after each number: a currency, a unit or a percent sign.
    """

    values: Floats
    odd: list[int]
    bare: int
    affix: tuple[str, str] = ("", "")
    units: tuple[str, ...] = ()


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
    if cell is None or isinstance(cell, bool | np.bool_):
        return None
    try:
        return float(cell), ("", "")
    except (TypeError, ValueError):
        return None


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
