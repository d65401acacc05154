"""Reading text tables: CSV, TSV and semicolon-separated files, with their encoding and decimal separator detected."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from fusewise.kernels.words import counted
from fusewise.tables.errors import InputError

READABLE = "a table: CSV, TSV, Parquet, Feather/Arrow or Excel"

#: Numbers with a decimal point, with a decimal comma, and those whose comma may also be a thousands separator.
POINT, COMMA = (re.compile(rf"[-+]?\d*{sign}\d+([eE][-+]?\d+)?") for sign in (r"\.", ","))
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")


@dataclass(frozen=True)
class Dialect:
    """Field separator and decimal separator of a text file."""

    separator: str = ","
    decimal: str = "."


@dataclass(frozen=True)
class TextTable:
    """A text table, its fields exactly as written.

    Attributes
    ----------
    header, rows : column names, and the fields of each row.
    dialect : its separators.
    notes : assumptions made while reading it.
    """

    header: list[str]
    rows: list[list[str]]
    dialect: Dialect
    notes: list[str]


def read_text(path: Path, data: bytes) -> TextTable:
    """Read a text table from the bytes of a file."""
    text, assumed = _decode(path, data)
    given = re.match(r"sep=([,;\t])\r?\n", text)  # a line for Excel; replaced by a blank one to keep line numbers
    text = "\n" + text[given.end() :] if given else text
    if not text.strip():
        raise empty(path)
    separator = given[1] if given else _separator(path, text)
    header, rows, notes = _split(path, text, separator)
    return TextTable(header, rows, Dialect(separator, _decimal(separator, rows)), assumed + notes)


def empty(path: Path) -> InputError:
    """The error for an empty file."""
    return InputError(f"{str(path)!r} is empty")


def _decode(path: Path, data: bytes) -> tuple[str, list[str]]:
    """The text of a file, and notes on its encoding."""
    notes: list[str] = []
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        if error.encoding.startswith("utf-16"):
            raise InputError(f"{str(path)!r} starts as UTF-16 but is not valid: save it as UTF-8") from error
        text = data.decode("latin-1")  # common in Western European spreadsheets; never fails
        notes.append(f"not UTF-8 (byte {error.start + 1}): read as Latin-1; save it as UTF-8 if characters look wrong")
    if re.search(r"[\x00-\x08\x0e-\x1f]", text):
        why = "binary data, or UTF-16 without a byte-order mark"
        raise InputError(f"{str(path)!r} is not a text table (it contains {why}): expected {READABLE}")
    kind = {"{": "JSON", "[": "JSON", "<": "HTML or XML"}.get(text.lstrip()[:1])
    if kind:
        raise InputError(f"{str(path)!r} looks like {kind}: expected {READABLE}")
    return text, notes


def _separator(path: Path, text: str) -> str:
    if path.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    first = re.sub(r'"[^"]*"', "", text.lstrip("\r\n").splitlines()[0])
    return max(",;\t", key=first.count)


def _split(path: Path, text: str, separator: str) -> tuple[list[str], list[list[str]], list[str]]:
    """Header, rows and notes; every row must have as many fields as the header."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    try:
        numbered = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise InputError(f"{str(path)!r}, line {reader.line_num}: {error}") from error
    header, notes = [name.strip() for name in numbered[0][1]], []
    body = numbered[1:]
    if body and all(len(row) == len(header) + 1 for _, row in body):
        if not any(row[-1].strip() for _, row in body):
            body = [(line, row[:-1]) for line, row in body]  # each row, but not the header, ends with a separator
        else:
            header = ["", *header]  # R's write.table omits the name of the row-name column
            notes.append("rows have one more field than the header: the first column is taken as row names")
    elif _is_data(header):
        body, header = numbered, [f"column{k + 1}" for k in range(len(header))]
        notes.append("the first line contains numbers, so there is no header: columns are named column1, column2, ...")
    for line, row in body:
        if len(row) != len(header):
            raise InputError(
                f"{str(path)!r}, line {line}: {counted(len(row), 'field')}, but the header has {len(header)} "
                f"(separator {separator!r})"
            )
    return header, [row for _, row in body], notes


def _decimal(separator: str, rows: list[list[str]]) -> str:
    """The decimal separator: detected from the numbers, with a comma as the default in semicolon-separated files."""

    def seen(number: re.Pattern[str], *, but: re.Pattern[str] | None = None) -> bool:
        found = (cell.strip() for row in rows for cell in row if number.fullmatch(cell.strip()))
        return any(but is None or not but.fullmatch(cell) for cell in found)

    if separator == ";":
        return "." if seen(POINT) and not seen(COMMA) else ","
    return "," if separator == "\t" and seen(COMMA, but=THOUSANDS) and not seen(POINT) else "."


def _is_data(header: list[str]) -> bool:
    """Whether the first line holds only numbers, at least one of them not an integer (integers may be years)."""
    numbers = [re.fullmatch(r"[-+]?\d+([.,]\d+)?([eE][-+]?\d+)?", name) for name in header]
    return all(numbers) and any(number and number[1] for number in numbers)
