"""Columns that are not measurements: identifiers, postcodes, telephone numbers, dates, row names and known classes."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from fusewise.kernels import Floats
from fusewise.tables._cells import decimal_sign
from fusewise.tables._grid import Cells, find_column

ROW_NAMES = re.compile(
    r"|index|unnamed: 0|rows?|samples?|subject|patient|participant|respondent"
    r"|(row|sample|subject|patient|participant|respondent|record|case|customer|client|user|order|product|item"
    r"|employee|student|account|transaction|passenger|member)?[ _.-]?(id|name)s?"
    r"|uuid|guid|(serial|account|customer|order|invoice|record)[ _.-]?(no|nr|num|number)\.?"
)
LABELS = re.compile(r"labels?|class(es)?|target|species|clusters?|cultivar|diagnosis|truth|ground[ _-]?truth")
#: Names of columns whose whole numbers name something, even if they repeat: customer id, patient.
NUMBERED = re.compile(r"(.* )?ids?|(.* )?(uu|gu)id|subject|patient|participant|respondent")
POSTCODES = re.compile(r"(.* )?(zip|zip ?code|post ?code|postal ?code|plz|postleitzahl|pin ?code)")
TELEPHONES = re.compile(r"(.* )?(phone|telephone|tel|mobile|cell ?phone|fax|telefon|handy)( ?(no|nr|number))?")
TIMES = re.compile(r"(.* )?(date|time|timestamp|datum|when|created|updated|modified)( utc)?|.+ at")

MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
DAY, MONTH_NUMBER = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])"
DATE = re.compile(
    rf"((?:[12]\d{{3}}([-/.]){MONTH_NUMBER}\2{DAY}|{DAY}([-/.]){DAY}\3(?:\d{{4}}|\d\d))([ T].*)?"
    rf"|\d{{1,2}}[ -]{MONTH}[ -]\d{{2,4}}( .*)?|{MONTH} \d{{1,2}}(st|nd|rd|th)?,? \d{{4}}( .*)?|{MONTH}[ -]\d{{2,4}}"
    r"|\d{4}-(0[1-9]|1[0-2])|\d{4}-W\d{2}|\d{4}[ -]?Q[1-4]|([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?( ?[ap]m)?)",
    re.I,
)
PHONE = re.compile(r"(\+|00)\d[\d ()/.-]{6,18}\d|\(?0?\d{2,5}\)?[ /.-]\d{3,4}[ .-]\d{3,5}|\(0\d{1,5}\) ?[\d -]{4,12}")
CODE = re.compile(r"0\d+")
DIGITS = re.compile(r"\d+")

#: Minimum number of rows for a column that counts them to be recognised.
LEAST_COUNTED = 20

#: Minimum number of digits for integers of equal length without repeats to be identifiers (account numbers, ISBN).
LONG_CODE = 10

#: Integers that repeat in a column called an identifier are categories if they are no more than these.
MOST_NUMBERED = 20

#: Why numbers are times, and the range they are in if those are from about 1985 to 2065.
NUMBERED_TIMES = (
    ("times in seconds since 1970, by name and range: convert them to hours to use them", 5e8, 3e9),
    ("times in milliseconds since 1970, by name and range: convert them to hours to use them", 5e11, 3e12),
    ("dates in days as Excel counts them, by name and range: read them as numbers to use them", 31_000, 60_000),
)

#: Minimum number of different integers that end in 01 to 12 for them to be months: that is no chance.
LEAST_MONTHS = 6

Test = Callable[[Any], bool]


def words_of(name: str) -> str:
    """A column's name in lower case, its parts separated by single spaces: zipCode, ZIP_CODE -> zip code."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.sub(r"[\s_.\-/:]+", " ", parted).strip().lower()


def share(cells: Sequence[Any], test: Test) -> float:
    """The fraction of cells that pass a test."""
    return sum(map(test, cells)) / len(cells)


def is_date(cell: Any) -> bool:
    """Whether a cell is a date or a time, as text or as a value of such a type."""
    if isinstance(cell, str):
        return DATE.fullmatch(cell) is not None
    return isinstance(cell, datetime.date | datetime.time | datetime.timedelta | np.datetime64 | np.timedelta64)


def is_called_id(name: str) -> bool:
    """Whether a column has a name that is typical of row names."""
    return ROW_NAMES.fullmatch(name.lower()) is not None


def is_called_class(name: str) -> bool:
    """Whether a column has a name that is typical of known classes."""
    return LABELS.fullmatch(name.lower()) is not None


def odd_numbers(name: str, values: Floats) -> tuple[str, str] | None:
    """The kind ("identifier", "date" or "category") of integers that are not measurements, and why; None otherwise.

    Parameters
    ----------
    values : values of the column, NaN if missing.
    """
    seen = values[~np.isnan(values)]
    if not (np.abs(seen) < 1e30).all() or (seen < 0).any() or (seen != np.floor(seen)).any():
        return None
    called = words_of(name)
    if POSTCODES.fullmatch(called):
        return "identifier", "postcodes, recognised by the name of the column: places, not amounts"
    if TELEPHONES.fullmatch(called) and (seen >= 1e5).all():
        return "identifier", "telephone numbers, recognised by the name of the column"
    if _are_dates(seen):
        return "date", "dates written as integers, such as 20240131: convert them to days to use them"
    if _are_months(seen):
        return "date", "months written as integers, such as 202401: convert them to months since a date to use them"
    if TIMES.fullmatch(called):
        for why, low, high in NUMBERED_TIMES:
            if (seen >= low).all() and (seen < high).all():
                return "date", why
    repeated = len(np.unique(seen)) < len(seen)
    if NUMBERED.fullmatch(called) and (not repeated or len(np.unique(seen)) > MOST_NUMBERED):
        how = "that repeat" if repeated else "that differ in every row"
        return "identifier", f"identifier: integers {how}, recognised by the name of the column"
    if repeated:
        few = called.split()[-1:] == ["id"] and len(np.unique(seen)) <= len(seen) // 2
        return ("category", "recognised by the name of the column") if few else None
    if is_called_id(name):
        return "identifier", "identifier: integers that differ in every row, recognised by the name of the column"
    if len(seen) == len(values) >= LEAST_COUNTED and (np.diff(values) == 1).all():
        return "identifier", "row numbers: each is one more than the last"
    if len(seen) > 1 and seen.min() >= 10 ** (LONG_CODE - 1) and len({len(str(int(value))) for value in seen}) == 1:
        return "identifier", f"identifier: integers of {len(str(int(seen[0])))} digits that differ in every row"
    return None


def _are_dates(seen: Floats) -> bool:
    """Whether all numbers are dates from 1800 to 2199 written as YYYYMMDD or YYYYMMDDhhmmss."""
    if len(seen) < 2 or not (((seen >= 18e6) & (seen < 22e6)) | ((seen >= 18e12) & (seen < 22e12))).all():
        return False
    try:
        for value in np.unique(seen):
            datetime.datetime.strptime(str(int(value))[:8], "%Y%m%d")
    except ValueError:
        return False
    return True


def _are_months(seen: Floats) -> bool:
    """Whether all numbers are months from 1800 to 2199 written as YYYYMM."""
    different = np.unique(seen)
    inside = (different >= 180001) & (different <= 219912) & (different % 100 >= 1) & (different % 100 <= 12)
    return len(different) >= LEAST_MONTHS and bool(inside.all())


def odd_text(name: str, seen: Sequence[Any]) -> tuple[str, str] | None:
    """The kind of text that is not a category (dates, telephone numbers, postcodes), and the reason; None otherwise."""
    if share(seen, is_date) > 0.8:
        return "date", "dates: convert them to numbers (such as days) to use them"
    texts = [str(cell) for cell in seen]
    called = words_of(name)
    if POSTCODES.fullmatch(called) and share(texts, lambda text: any(map(str.isdigit, text))) > 0.8:
        return "identifier", "postcodes, recognised by the name of the column: places, not amounts"
    named = TELEPHONES.fullmatch(called) and share(texts, lambda text: sum(map(str.isdigit, text)) >= 6) > 0.8
    if named or share(texts, lambda text: PHONE.fullmatch(text) is not None) > 0.8:
        return "identifier", "telephone numbers"
    return None


def are_codes(seen: Sequence[Any]) -> bool:
    """Whether a column contains only digits, some with leading zeros, as codes have and amounts do not."""
    texts = [cell for cell in seen if isinstance(cell, str)]
    coded = any(CODE.fullmatch(text) for text in texts)
    return coded and len(texts) == len(seen) and all(DIGITS.fullmatch(text) for text in texts)


FRACTION = re.compile(r"[-+]?\d*[.,]\d*[1-9]\d*")


def column_or_none(cells: dict[str, Cells], asked: str, option: str) -> str | None:
    """Check that a column exists; None for the word "none", unless a column has that name."""
    return None if asked.lower() == "none" and asked not in cells else find_column(cells, asked, option)


def names_column(cells: dict[str, Cells], left: list[str], asked: str | Literal[False] | None) -> str | None:
    """The column with the row names: the requested one, or the first with a typical name and no repeats.

    A first column of text that differs in every row names the rows, whatever its name.

    Parameters
    ----------
    left : columns to choose from.
    """
    if asked is not None:
        return column_or_none(cells, asked, "--names") if asked else None
    for name in filter(is_called_id, left):
        of = cells[name]
        # A column with fractions holds measurements, whatever its name.
        named = not any(cell is None or FRACTION.fullmatch(str(cell)) for cell in of)
        if named and len(set(map(str, of))) == len(of):
            return name
    return left[0] if left and _is_text_id(cells[left[0]]) else None


def _is_text_id(cells: Cells) -> bool:
    if not all(isinstance(cell, str) for cell in cells) or len(set(cells)) < len(cells):
        return False
    return all(decimal_sign(cell) is None for cell in cells)


def labels_column(cells: dict[str, Cells], left: list[str], asked: str | Literal[False] | None) -> str | None:
    """The column of known classes: the requested one, or the first with a typical name whose values repeat."""
    if asked is not None:
        return column_or_none(cells, asked, "--labels") if asked else None
    for name in filter(is_called_class, left):
        distinct = len({*map(str, cells[name]), "None"}) - 1
        if 2 <= distinct <= len(cells[name]) / 2:
            return name
    return None


def row_names(cells: dict[str, Cells], column: str | None, n_rows: int) -> Cells:
    """Names of the rows from a column, or their numbers from 1 (without a column, or if the name is missing)."""
    numbers = np.arange(1, n_rows + 1).astype(object)
    of = None if column is None else cells[column]
    return numbers if of is None else np.where([cell is None for cell in of], numbers, of)
