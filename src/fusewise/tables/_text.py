"""Reading text tables: fields separated by commas, semicolons, tabs, pipes or blanks, with their encoding detected."""

from __future__ import annotations

import csv
import io
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from fusewise.support import InputError, counted
from fusewise.tables._grid import READABLE, Grid, Numbered, by_column, titles_above, without_remarks
from fusewise.tables._sources import Source

SEPARATORS = ",;\t|"

#: Number of records read to detect the separator, and the share of them that a separator must split alike.
SAMPLE, LEAST_ALIKE = 50, 0.5

#: Characters among which the first that is not blank is looked for.
LONGEST_START = 10_000

NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?([eE][-+]?\d+)?")

#: Byte-order marks and the encodings they indicate, longest first.
MARKS = {BOM_UTF32_LE: "utf-32", BOM_UTF32_BE: "utf-32", BOM_UTF16_LE: "utf-16", BOM_UTF16_BE: "utf-16"}


def read_text(source: Source, sep: str | None = None, skip_rows: int = 0, comment: str | None = None) -> Grid:
    """Read a text table; its separator, titles and comments (``#``) are detected unless they are given."""
    text, notes = decode(source)
    given = re.match(r"sep=([,;\t|])\r?\n", text)  # a line for Excel
    # Lines are made blank, not deleted, so that messages have their numbers.
    text = _blanked(text, {0} if given else set())
    if not text.strip():
        raise InputError(f"{source.name!r} is empty")
    text = _blanked(text, set(range(skip_rows)))
    text, remarks = _without_comments(text, comment)
    if not text.strip():
        raise InputError(f"{source.name!r} has no lines but those left out (--skip-rows, --comment)")
    if sep is None:
        separator = given[1] if given else _separator(source, text)
    else:
        separator = {"tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}.get(sep.lower(), sep)
        if len(separator) != 1 or separator in '"\r\n':
            raise InputError(f"sep (--sep) {sep!r}: expected one character, such as ',', ';', '|' or 'tab'")
    numbered, beside = without_remarks(_numbered_records(source.name, text, separator), skip_rows, "lines")
    header, body, more = _header(numbered)
    for line, row in body:
        if len(row) != len(header):
            raise InputError(
                f"{source.name!r}, line {line}: {counted(len(row), 'field')}, but the header has {len(header)} "
                f"(separator {separator!r}); put the field in quotes, set sep (--sep), or leave out lines above the "
                "header (--skip-rows) or comments (--comment)"
            )
    written, renamed = by_column(header, [row for _, row in body])
    return Grid(written, separator, notes=[*notes, *remarks, *beside, *more, *renamed])


def _blanked(text: str, which: set[int]) -> str:
    """The text with some lines, numbered from 0, made blank."""
    if not which:
        return text
    return "".join("\n" if k in which else line for k, line in enumerate(text.splitlines(keepends=True)))


def _without_comments(text: str, comment: str | None) -> tuple[str, list[str]]:
    """The text without lines of comments, and a note on them if they were not asked for.

    The last line of a comment at the start is the header if the lines below have numbers where it has words.
    """
    sign = comment or "#"
    if comment is None and not text[:LONGEST_START].lstrip().startswith(sign):
        return text, []
    lines = text.splitlines()
    first = next((k for k, line in enumerate(lines) if line.strip() and not line.lstrip().startswith(sign)), len(lines))
    starting = [k for k, line in enumerate(lines[:first]) if line.strip()]
    found = {k for k, line in enumerate(lines) if line.lstrip().startswith(sign)}
    if starting and comment is None and first < len(lines) and _is_header(lines[starting[-1]], lines[first]):
        found -= {starting[-1]}
        kept = "".join(text.splitlines(keepends=True)[starting[-1] :]).lstrip()
        text = "\n" * starting[-1] + kept.removeprefix(sign)
    note = f"{counted(len(found), 'line')} starting with {sign!r} left out as comments"
    return _blanked(text, found), [note] if found and comment is None else []


def _is_header(line: str, below: str) -> bool:
    """Whether a line has words where the line below, with as many fields, has numbers."""
    for sign in (*SEPARATORS, None):
        words, cells = line.lstrip(" #").split(sign), below.strip().split(sign)
        if len(words) == len(cells) > 1:
            return not any(map(_is_number, words)) and any(map(_is_number, cells))
    return False


def _is_number(field: str) -> bool:
    return NUMBER.fullmatch(field.strip().strip('"')) is not None


def decode(source: Source) -> tuple[str, list[str]]:
    """The text of a file, and notes on its encoding."""
    data, notes = source.data, []
    encoding = next((encoding for mark, encoding in MARKS.items() if data.startswith(mark)), "utf-8-sig")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if not error.encoding.startswith("utf-8"):
            name = encoding.upper()
            raise InputError(f"{source.name!r} starts as {name} but is not valid: save it as UTF-8") from error
        try:  # the encodings of Western European spreadsheets; the second one never fails
            text, read_as = data.decode("cp1252"), "Windows-1252"
        except UnicodeDecodeError:
            text, read_as = data.decode("latin-1"), "Latin-1"
        where = f"byte {error.start + 1}"
        notes.append(f"not UTF-8 ({where}): read as {read_as}; save it as UTF-8 if characters look wrong")
    if re.search(r"[\x00-\x08\x0e-\x1f]", text):
        raise InputError(f"{source.name!r} is not a text table (it contains binary data): expected {READABLE}")
    kind = {"{": "JSON", "[": "JSON", "<": "HTML or XML", "@": "ARFF"}.get(text.lstrip()[:1])
    if kind and source.suffix not in JSON_SUFFIXES:
        raise InputError(f"{source.name!r} looks like {kind}: expected {READABLE}")
    return text, notes


JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")


def _separator(source: Source, text: str) -> str:
    """The separator that splits most lines into equally many fields; in case of ties, into the most.

    If none does, it is blanks, provided that they split all lines alike, or that columns are aligned by them, and that
    a column has numbers: otherwise the file may have one column of text.
    """
    if source.suffix in (".tsv", ".tab"):
        return "\t"

    def fit(separator: str) -> tuple[float, float, int]:
        try:
            counts = [len(row) for _, row in islice(_records(text, separator), SAMPLE) if row]
        except csv.Error:
            return 0.0, 0.0, 1
        usual = Counter(counts).most_common(1)[0][0]
        exact = sum(n == usual for n in counts) / len(counts)
        alike = exact + (counts[0] == usual - 1) / len(counts)  # R's header has one name fewer
        return (alike, exact, usual) if usual > 1 else (0.0, 0.0, 1)

    best = max(SEPARATORS, key=fit)
    return best if fit(best)[0] >= LEAST_ALIKE or not _is_spaced(text) else " "


def _is_spaced(text: str) -> bool:
    """Whether blanks separate the fields of a table."""
    try:
        rows = [row for _, row in islice(_records(text, " "), SAMPLE) if row]
    except csv.Error:
        return False
    above = titles_above(rows)
    if above and any(map(_is_number, rows[above])):  # one column, of dates in words
        return False
    body = rows[1 + above :]
    if len(body) < 2 or len(body[0]) < 2 or len({len(row) for row in body}) > 1:
        return False
    if not all(any(cells) for cells in zip(*body, strict=True)):  # one column, with a name of two words
        return False
    return any(all(_is_number(row[k]) or row[k] in ("", ".", "NA") for row in body) for k in range(len(body[0])))


def _records(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The number of the last line of each record, and its fields as written.

    Spaces before a field are dropped only if a quote follows them, or if they separate fields.
    """
    if separator == " ":
        if aligned := _aligned(text):
            yield from enumerate(aligned, 1)
            return
        text = "\n".join(line.strip().replace("\t", " ") for line in text.splitlines())
    spaced = separator == " " or re.search(rf'{re.escape(separator)} +"', text) is not None
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=spaced)
    try:
        yield from ((reader.line_num, row) for row in reader)
    except csv.Error as error:
        raise csv.Error(f"line {reader.line_num}: {error}") from error


def _aligned(text: str) -> list[list[str]] | None:
    """Fields between the columns of blanks that all lines share, if fields have blanks inside or are empty."""
    lines = [line.expandtabs() for line in text.splitlines()]
    filled = [line for line in lines if line.strip()]
    counts = [len(line.split()) for line in filled]
    if '"' in text or len(set(counts)) == 1 or len({*counts[:1], *(n - 1 for n in counts[1:])}) == 1:
        return None  # any blanks split all lines alike, or R wrote it, with one name fewer
    width = max(map(len, filled), default=0)
    used = [any(line[k : k + 1].strip() for line in filled) for k in range(width)]
    starts = [k for k in range(width) if used[k] and (k == 0 or not used[k - 1])]
    fields = list(zip(starts, [*starts[1:], width], strict=True))
    rows = [[line[start:stop].strip() for start, stop in fields] if line.strip() else [] for line in lines]
    return rows if len(starts) > 1 else None


def _numbered_records(source: str, text: str, separator: str) -> list[Numbered]:
    try:
        numbered = [(line, row) for line, row in _records(text, separator) if row]
    except csv.Error as error:
        raise InputError(f"{source!r}, {error}") from error
    if text.count('"') % 2 and "\n" in numbered[-1][1][-1]:
        start = numbered[-2][0] + 1 if len(numbered) > 1 else 1
        raise InputError(f"{source!r}, line {start}: a quote is opened but not closed; close or remove it")
    return numbered


def _header(numbered: list[Numbered]) -> tuple[list[str], list[Numbered], list[str]]:
    """Column names, the rows below them, and notes."""
    header, body = [name.strip() for name in numbered[0][1]], numbered[1:]
    if body and all(len(row) == len(header) + 1 for _, row in body):
        if not any(row[-1].strip() for _, row in body):  # each row, but not the header, ends with a separator
            return header, [(line, row[:-1]) for line, row in body], []
        # R's write.table omits the name of the row-name column
        note = "rows have one more field than the header: the first column is taken as row names"
        return ["", *header], body, [note]
    numbers = [NUMBER.fullmatch(name) for name in header]
    # Different integers may be years or codes; a word that occurs again below it is a value.
    if all(numbers):
        data = any(number and number[1] for number in numbers) or len(set(header)) < len(header)
    else:
        words = [k for k, name in enumerate(header) if name and not numbers[k]]
        data = any(numbers) and any(row[k].strip() == header[k] for _, row in body for k in words if len(row) > k)
    if data:
        note = "the first line contains values, so there is no header: columns are named column1, column2, ..."
        return [f"column{k + 1}" for k in range(len(header))], numbered, [note]
    return header, body, []
