"""Reading text tables: CSV, TSV, and fields separated by semicolons or pipes, with their encoding detected."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

from fusewise.support.errors import InputError
from fusewise.support.words import counted
from fusewise.tables._grid import READABLE, Grid, by_column
from fusewise.tables._sources import Source

SEPARATORS = ",;\t|"

#: Number of records read to detect the separator.
SAMPLE = 50

#: Byte-order marks and the encodings they indicate, longest first.
MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


def read_text(source: Source, sep: str | None = None, skip_rows: int = 0, comment: str | None = None) -> Grid:
    """Read a text table.

    Parameters
    ----------
    sep : field separator; None: detected.
    """
    text, assumed = decode(source)
    given = re.match(r"sep=([,;\t|])\r?\n", text)  # a line for Excel; replaced by a blank one to keep line numbers
    text = "\n" + text[given.end() :] if given else text
    if not text.strip():
        raise InputError(f"{source.name!r} is empty")
    separator = _as_separator(sep) if sep is not None else given[1] if given else _separator(source, text)
    header, rows, notes = _split(source.name, text, separator)
    return Grid(by_column(source.name, header, rows), separator, notes=assumed + notes)


def decode(source: Source) -> tuple[str, list[str]]:
    """The text of a file, and notes on its encoding."""
    data, notes = source.data, []
    encoding = next((encoding for mark, encoding in MARKS if data.startswith(mark)), None) or _without_mark(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if not error.encoding.startswith("utf-8"):
            name = encoding.upper()
            raise InputError(f"{source.name!r} starts as {name} but is not valid: save it as UTF-8") from error
        text, read_as = _western(data)
        where = f"byte {error.start + 1}"
        notes.append(f"not UTF-8 ({where}): read as {read_as}; save it as UTF-8 if characters look wrong")
    if re.search(r"[\x00-\x08\x0e-\x1f]", text):
        raise InputError(f"{source.name!r} is not a text table (it contains binary data): expected {READABLE}")
    kind = {"{": "JSON", "[": "JSON", "<": "HTML or XML"}.get(text.lstrip()[:1])
    if kind and source.suffix not in JSON_SUFFIXES:
        raise InputError(f"{source.name!r} looks like {kind}: expected {READABLE}")
    return text, notes


JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")


def _without_mark(data: bytes) -> str:
    """The encoding of text without a byte-order mark: UTF-16 if every other byte is zero at the start, else UTF-8."""
    head = data[:400]
    pairs = len(head) // 2
    zeros = [head[k::2].count(0) for k in (0, 1)]
    if pairs >= 4 and max(zeros) >= 0.9 * pairs and min(zeros) == 0:
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    return "utf-8-sig"


def _western(data: bytes) -> tuple[str, str]:
    """Decode with the encodings of Western European spreadsheets, and name the one used; never fails."""
    try:
        return data.decode("cp1252"), "Windows-1252"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "Latin-1"


def _as_separator(sep: str) -> str:
    separator = {"tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}.get(sep.lower(), sep)
    if len(separator) != 1 or separator in '"\r\n':
        raise InputError(f"sep (--sep) {sep!r}: expected one character, such as ',', ';', '|' or 'tab'")
    return separator


def _separator(source: Source, text: str) -> str:
    """The separator that splits most lines into as many fields as the first; in case of ties, into the most fields."""
    if source.suffix in (".tsv", ".tab"):
        return "\t"

    def fit(separator: str) -> tuple[float, int]:
        try:
            counts = [len(row) for row in islice(_records(text, separator), SAMPLE) if row]
        except csv.Error:
            return 0.0, 1
        alike = sum(n in (counts[0], counts[0] + 1) for n in counts) / len(counts)
        return (alike, counts[0]) if counts[0] > 1 else (0.0, 1)

    return max(SEPARATORS, key=fit)


def _records(text: str, separator: str) -> Any:
    """Fields as written; spaces before a field are dropped only if a quote follows them."""
    spaced = re.search(rf'{re.escape(separator)} +"', text) is not None
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=spaced)


def _split(source: str, text: str, separator: str) -> tuple[list[str], list[list[str]], list[str]]:
    """Header, rows and notes; every row must have as many fields as the header."""
    reader = _records(text, separator)
    try:
        numbered = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise InputError(f"{source!r}, line {reader.line_num}: {error}") from error
    if text.count('"') % 2 and "\n" in numbered[-1][1][-1]:
        start = numbered[-2][0] + 1 if len(numbered) > 1 else 1
        raise InputError(f"{source!r}, line {start}: a quote is opened but not closed; close or remove it")
    header, body, notes = _header(numbered)
    for line, row in body:
        if len(row) != len(header):
            raise InputError(
                f"{source!r}, line {line}: {counted(len(row), 'field')}, but the header has {len(header)} "
                f"(separator {separator!r}); put the field in quotes, or set sep (--sep)"
            )
    return header, [row for _, row in body], notes


Numbered = Sequence[tuple[int, list[str]]]


def _header(numbered: Numbered) -> tuple[list[str], Numbered, list[str]]:
    """Column names, the rows below them, and notes."""
    header, body = [name.strip() for name in numbered[0][1]], numbered[1:]
    if body and all(len(row) == len(header) + 1 for _, row in body):
        if not any(row[-1].strip() for _, row in body):  # each row, but not the header, ends with a separator
            return header, [(line, row[:-1]) for line, row in body], []
        # R's write.table omits the name of the row-name column
        note = "rows have one more field than the header: the first column is taken as row names"
        return ["", *header], body, [note]
    numbers = [re.fullmatch(r"[-+]?\d+([.,]\d+)?([eE][-+]?\d+)?", name) for name in header]
    # Integers alone may be years or codes.
    if all(numbers) and any(number and number[1] for number in numbers):
        note = "the first line contains numbers, so there is no header: columns are named column1, column2, ..."
        return [f"column{k + 1}" for k in range(len(header))], numbered, [note]
    return header, body, []
