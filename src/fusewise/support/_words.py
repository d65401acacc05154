"""The error for invalid input, and numbers and lists in messages. Importing it does not import NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


def counted(n: int, one: str, many: str | None = None) -> str:
    """Format a count with its noun: 1 row, 2 rows; 1 entry, 2 entries (`many`: an irregular plural)."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def some_of(items: Sequence[object], most: int = 8) -> str:
    """Format a list as in "a, b, c and 5 more": the first `most` items, and the number of the others."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(map(str, items[:most])) + more


#: Control characters, except line feed and tab, and a visible sign for each.
CONTROLS = {code: 0x2400 + code for code in range(32) if code not in (9, 10)}
CONTROLS |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)


def visible(text: str) -> str:
    """Text without control characters, which could change the title, colours or content of a terminal."""
    return text.translate(CONTROLS)


def in_series(words: Sequence[str]) -> str:
    """Format a list as in "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def readable(value: float, digits: int = 3) -> str:
    """Format to some significant digits, and all before the point: 0.0123, 12.3, 1230, 12,300; a dash if not finite.

    Thousands are separated from five digits on, so that years are years.
    """
    if not math.isfinite(value):
        return "–"
    whole = 100 <= abs(value) < 1e7
    decimals = max(0, digits - len(f"{abs(value):.0f}"))
    separator = "," if abs(value) >= 9999.5 else ""
    return (f"{value:{separator}.{decimals}f}" if whole else f"{value:.{digits}g}").replace("-", "−")


def readable_apart(values: Sequence[float]) -> list[str]:
    """Format numbers to as many significant digits, three or more, as make different ones read differently."""
    n_different = len({value for value in values if math.isfinite(value)})
    for digits in range(3, 18):
        texts = [readable(value, digits) for value in values]
        if len({text for text, value in zip(texts, values, strict=True) if math.isfinite(value)}) == n_different:
            break
    return texts


def in_words(n_bytes: float) -> str:
    """Format a number of bytes, as in '3.1 GiB'."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.3g} TiB"


class InputError(ValueError):
    """The user's input is invalid; the message says what is wrong, where (row, column) and what to do.

    Every error that is raised on purpose for a wrong table, file, option or argument is one. Any other ``ValueError``
    comes from a fault of the program, such as arrays that do not fit together, and a command says so.
    """


@contextmanager
def as_input_errors() -> Iterator[None]:
    """Raise a ``ValueError`` of another library's check of the user's input as an ``InputError``."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(str(error)) from error
