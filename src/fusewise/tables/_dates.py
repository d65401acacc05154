"""Dates and times as features: days since a date, the month, the time of day.

A column of dates becomes up to three columns, whose names say how they were computed:

- ``day (days since 2019-03-01)``, or hours where all dates lie within ten days: a number;
- ``day (month)``, ordered, where the dates span two years or more: in less time it says what the first one says;
- ``day (hour)``, hours since midnight, where times of day differ, and the dates span two days or more.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fusewise.kernels import Floats
from fusewise.tables._grid import Cells, as_cells
from fusewise.tables._recognition import words_of

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MONTH = r"(?P<name>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
DAY, MONTH_NUMBER = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])"
CLOCK = r"(?P<h>[01]?\d|2[0-3]):(?P<min>[0-5]\d)(?::(?P<s>[0-5]\d(?:\.\d+)?))?(?: ?(?P<half>[ap])m)?"
AND_TIME = rf"(?:[ T]+{CLOCK}.*|[ T].*)?"
FORMS = tuple(
    re.compile(form, re.I)
    for form in (
        rf"(?P<y>[12]\d{{3}})([-/.])(?P<m>{MONTH_NUMBER})\2(?P<d>{DAY}){AND_TIME}",
        rf"(?P<a>{DAY})([-/.])(?P<b>{DAY})\2(?P<y>\d{{4}}|\d\d){AND_TIME}",
        rf"(?P<d>\d{{1,2}})[ -]{MONTH}[ -](?P<y>\d{{2,4}}){AND_TIME}",
        rf"{MONTH} (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}}){AND_TIME}",
        rf"{MONTH}[ -](?P<y>\d{{2,4}})",
        r"(?P<y>\d{4})-(?P<m>0[1-9]|1[0-2])",
        r"(?P<y>\d{4})-W(?P<w>\d{2})",
        r"(?P<y>\d{4})[ -]?Q(?P<q>[1-4])",
        CLOCK,
    )
)
TIMES = re.compile(r"(.* )?(date|time|timestamp|datum|when|created|updated|modified|ts|epoch)( utc)?|.+ at")
EPOCH = datetime.datetime(1970, 1, 1)
DAY_SECONDS = 86_400.0

#: Numbers that are dates: how they are written, the range they are in from about 1985 to 2065 (the last three: from
#: 1800 to 2199), and seconds since 1970 of one of them. The first three are dates only if their column is called so.
NUMBERED: tuple[tuple[str, float, float, Callable[[float], float]], ...] = (
    ("as days of Excel", 31_000, 60_000, lambda value: (value - 25_569) * DAY_SECONDS),
    ("in seconds since 1970", 5e8, 3e9, lambda value: value),
    ("in milliseconds since 1970", 5e11, 3e12, lambda value: value / 1000),
    ("as whole numbers, such as 202401", 180_001, 219_913, lambda value: _parsed(value, "%Y%m", 6)),
    ("as whole numbers, such as 20240131", 18e6, 22e6, lambda value: _parsed(value, "%Y%m%d", 8)),
    ("as whole numbers, such as 20240131235959", 18e12, 22e12, lambda value: _parsed(value, "%Y%m%d%H%M%S", 14)),
)
#: Minimum number of different integers that end in 01 to 12 for them to be months: that is no chance.
LEAST_MONTHS = 6
#: Days that dates span for their months, and for their times of day, to be features; below the third, in hours.
YEARS_APART, DAYS_APART, FEW_DAYS = 730, 2, 10
#: Dates of a series lie at most so many of its usual steps apart: a long weekend, the longest month.
MOST_UNEVEN = 5
#: The names of features.
FEATURE = re.compile(
    r"(?P<column>.*) \((?:(?P<unit>days|hours) since (?P<start>\d{4}-\d\d-\d\d)|(?P<part>month|hour))\)"
)


def are_dates(seen: Sequence[Any]) -> bool:
    """Whether the cells of a column are dates or times, as text or as values of such a type, but for a few."""
    if not all(isinstance(cell, str | datetime.date | datetime.time | np.datetime64) for cell in seen):
        return False
    known = {cell: not isinstance(cell, str) or any(form.fullmatch(cell) for form in FORMS) for cell in set(seen)}
    return sum(known[cell] for cell in seen) > 0.8 * len(seen)


def seconds_of(cells: Sequence[Any], *, day_first: bool) -> Floats:
    """Seconds since 1970 of dates, and since midnight of times; NaN if missing or not a date."""
    known = {cell: _seconds(cell, day_first=day_first) for cell in set(cells)}
    return np.array([known[cell] for cell in cells])


def _seconds(cell: Any, *, day_first: bool) -> float:
    if isinstance(cell, datetime.time):
        return float(cell.hour * 3600 + cell.minute * 60 + cell.second)
    if isinstance(cell, int | float | np.number) or (isinstance(cell, str) and cell.isdecimal()):
        return _from_number(float(cell))
    if isinstance(cell, np.datetime64):
        return float(cell.astype("datetime64[ms]").astype(np.int64) / 1000)
    if isinstance(cell, datetime.date):
        whole = cell if isinstance(cell, datetime.datetime) else datetime.datetime(cell.year, cell.month, cell.day)
        return (whole.replace(tzinfo=None) - EPOCH).total_seconds()
    found = next((match for form in FORMS if (match := form.fullmatch(str(cell)))), None)
    if found is None:
        return np.nan
    parts = {name: text for name, text in found.groupdict().items() if text}
    try:
        return _day(parts, day_first=day_first) + _clock(parts)
    except ValueError:  # 31 February
        return np.nan


def _day(parts: dict[str, str], *, day_first: bool) -> float:
    """Seconds since 1970 of the start of a day; 0 for a time of day."""
    if "y" not in parts:
        return 0.0
    year = int(parts["y"])
    year += 0 if year >= 100 else 1900 if year >= 69 else 2000
    if "w" in parts:
        start = datetime.datetime.fromisocalendar(year, int(parts["w"]), 1)
    else:
        month, day = int(parts.get("m", 1)), int(parts.get("d", 1))
        if "a" in parts:
            month, day = (int(parts[name]) for name in ("ba" if day_first else "ab"))
        elif "name" in parts:
            month = MONTHS.index(parts["name"].title()) + 1
        elif "q" in parts:
            month = 3 * int(parts["q"]) - 2
        start = datetime.datetime(year, month, day)
    return (start - EPOCH).total_seconds()


def _clock(parts: dict[str, str]) -> float:
    """Seconds since midnight; 0 for a day."""
    hour = int(parts.get("h", 0))
    if "half" in parts:
        hour = hour % 12 + (12 if parts["half"].lower() == "p" else 0)
    return hour * 3600 + int(parts.get("min", 0)) * 60 + float(parts.get("s", 0))


def day_comes_first(seen: Sequence[Any]) -> tuple[bool, str | None]:
    """Whether 1/2/2024 is the first of February, and a date that leaves it open if none decides.

    A first number above 12 is a day, and a second one shows that the first is a month. Otherwise dates with slashes
    are read with the month first, as in America, and others with the day first.
    """
    pairs = [(match["a"], match["b"], str(cell)) for cell in seen if (match := FORMS[1].fullmatch(str(cell)))]
    if any(int(first) > 12 for first, _, _ in pairs):
        return True, None
    if any(int(second) > 12 for _, second, _ in pairs):
        return False, None
    return not any("/" in text for *_, text in pairs), pairs[0][2] if pairs else None


def numbered_dates(name: str, values: Floats) -> tuple[Floats, str] | None:
    """Seconds since 1970 of numbers that are dates, and how they are written; None if they are not dates."""
    different = np.unique(values[~np.isnan(values)])
    if len(different) < 2 or (different != np.floor(different)).any():
        return None
    for how, low, high, _ in NUMBERED if TIMES.fullmatch(words_of(name)) else NUMBERED[3:]:
        if different[0] >= low and different[-1] < high and (high > 1e6 or len(different) >= LEAST_MONTHS or low < 1e5):
            known = {value: _from_number(value) for value in different.tolist()}
            if not any(map(np.isnan, known.values())):
                return np.array([known.get(value, np.nan) for value in values.tolist()]), how
    return None


def _from_number(value: float) -> float:
    """Seconds since 1970 of a date that is written as a number; NaN if it is none."""
    convert = next((convert for _, low, high, convert in NUMBERED if low <= value < high), None)
    try:
        return np.nan if convert is None else convert(value)
    except ValueError:
        return np.nan


def _parsed(value: float, form: str, digits: int) -> float:
    return (datetime.datetime.strptime(str(int(value))[:digits], form) - EPOCH).total_seconds()


def feature_names(name: str, seconds: Floats) -> list[str]:
    """The names of the features of a column of dates; see the module."""
    seen = seconds[~np.isnan(seconds)]
    if seen.max() < DAY_SECONDS:  # times of day, or one day in 1970
        return [f"{name} (hour)"]
    days = np.ptp(seen) / DAY_SECONDS
    unit, start = "hours" if days < FEW_DAYS else "days", np.datetime64(int(seen.min() // DAY_SECONDS), "D")
    names = [f"{name} ({unit} since {start})"]
    names += [f"{name} (month)"] if days >= YEARS_APART else []
    return names + ([f"{name} (hour)"] if days >= DAYS_APART and len(np.unique(seen % DAY_SECONDS)) > 1 else [])


def feature(name: str, seconds: Floats) -> Cells:
    """The cells of a feature with one of these names, None if missing."""
    found = FEATURE.fullmatch(name)
    assert found is not None
    if found["part"] == "month":
        days = (np.nan_to_num(seconds) // DAY_SECONDS).astype(np.int64).astype("datetime64[D]")
        months = days.astype("datetime64[M]").astype(int) % 12
        cells: list[Any] = [MONTHS[month] for month in months]
    elif found["part"] == "hour":
        cells = (seconds % DAY_SECONDS / 3600).tolist()
    else:
        start = np.datetime64(found["start"], "s").astype(float)
        cells = ((seconds - start) / (3600.0 if found["unit"] == "hours" else DAY_SECONDS)).tolist()
    return as_cells([None if np.isnan(second) else cell for cell, second in zip(cells, seconds, strict=True)])


def shown(seconds: Floats) -> str:
    """The range of dates, or of times of day, in words."""
    low, high = np.nanmin(seconds), np.nanmax(seconds)
    if high < DAY_SECONDS:
        return " to ".join(f"{int(end // 3600):02}:{int(end // 60 % 60):02}" for end in (low, high))
    return " to ".join(str(np.datetime64(int(end // DAY_SECONDS), "D")) for end in (low, high))


def are_in_order(seconds: Floats) -> bool:
    """Whether dates increase (or decrease) by like steps from row to row: they count the rows, as row numbers do."""
    steps = np.abs(np.diff(seconds))
    monotone = (np.diff(seconds) > 0).all() or (np.diff(seconds) < 0).all()
    return bool(monotone) and bool(steps.max() <= MOST_UNEVEN * np.median(steps))


def with_features(written: dict[str, Cells], wanted: dict[str, bool]) -> dict[str, Cells]:
    """The cells of a table, and those of features of its dates.

    Of the columns `wanted`, those that name a feature are added; it says whether days come first in their dates.
    """
    made = dict(written)
    for name, day_first in wanted.items():
        found = FEATURE.fullmatch(name)
        if found is not None and name not in written and found["column"] in written:
            cells = [cell.strip() if isinstance(cell, str) else cell for cell in written[found["column"]]]
            made[name] = feature(name, seconds_of(cells, day_first=day_first))
    return made
