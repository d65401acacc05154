"""Detection of the decimal separator of a file, from all of its columns together."""

from __future__ import annotations

from dataclasses import dataclass

from fusewise.tables.errors import InputError
from fusewise.tables.grids import Cells
from fusewise.tables.numbers import decimal_sign, plain_numbers

#: Columns are considered if at least this fraction of their cells can be read as numbers in either convention.
LEAST_SHARE = 0.8

REMEDY = "set decimal='.' or decimal=',' (--decimal)"


@dataclass(frozen=True)
class Example:
    """A cell that shows, or leaves open, which decimal separator is used."""

    column: str
    row: int
    text: str

    def __str__(self) -> str:
        return f"{self.text!r} in column {self.column!r}, row {self.row}"


def decide_decimal(columns: dict[str, Cells], separator: str | None) -> str:
    """The decimal separator of the numbers of a file.

    ``12.5``, ``0.125`` and ``1,234,567`` show a decimal point; ``12,5``, ``0,125`` and ``9.693,45`` a decimal comma.
    ``1.234`` and ``1,234`` are ambiguous: the sign may separate thousands. If nothing else in the file decides, it is a
    decimal separator if the same column has an integer of four digits or more without it (nobody writes both 1.234 and
    5678 for thousands), and the decimal separator is a point if fields are separated by commas; otherwise an
    ``InputError`` asks the user.

    Parameters
    ----------
    columns : name -> cells, None if missing.
    separator : field separator; None if the file is not text.
    """
    sure: dict[str, Example] = {}
    unsure: dict[str, Example] = {}
    for name, cells in columns.items():
        for sign, example in _signs(name, cells, point_seen="." in sure).items():
            (unsure if sign.startswith("?") else sure).setdefault(sign, example)
    if len(sure) == 2:
        raise InputError(f"decimals are written in two ways: {sure['.']}, and {sure[',']}; {REMEDY}")
    if sure:
        return next(iter(sure))
    if unsure and separator != ",":
        readings = [f"{example} may mean {_readings(example.text)}" for example in unsure.values()]
        raise InputError(f"{' and '.join(readings)}, and nothing in the file decides which; {REMEDY}")
    return "," if separator == ";" else "."


def _readings(text: str) -> str:
    plain = text.strip().replace(",", ".")
    return f"{plain} or {plain.replace('.', '')}"


def _signs(name: str, cells: Cells, *, point_seen: bool) -> dict[str, Example]:
    """The first cell of a numeric column for each sign; "?." and "?,": possibly a thousands separator."""
    plain = plain_numbers(cells, ".") is not None  # so it has no decimal commas: one cell with a point is enough
    if plain and point_seen:
        return {}
    texts = [(row, cell) for row, cell in enumerate(cells, 1) if isinstance(cell, str)]
    if not any("." in text or "," in text for _, text in texts):
        return {}
    found: dict[str, Example] = {}
    numbers, long = 0, False
    for row, text in texts:
        sign = decimal_sign(text)
        if sign is None:
            continue
        numbers += 1
        long = long or (sign == "" and sum(map(str.isdigit, text)) > 3)
        if sign:
            sign = f"?{next(c for c in text if c in '.,')}" if sign == "?" else sign
            found.setdefault(sign, Example(name, row, text.strip()))
            if plain and sign == ".":
                return found
    if numbers < LEAST_SHARE * len(texts):
        return {}
    return {sign[-1] if long else sign: example for sign, example in found.items()}
