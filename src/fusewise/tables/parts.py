"""Tables in parts: the files of a pattern or a folder, Parquet or text, that have the same columns."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from fusewise.support.words import some_of
from fusewise.tables.errors import InputError
from fusewise.tables.grids import Grid

#: Suffixes of a part, by its format; text may be compressed.
SUFFIXES = {"Parquet": (".parquet", ".pq"), "text": (".csv", ".tsv", ".tab", ".txt")}
COMPRESSED_SUFFIXES = (".gz", ".xz", ".bz2", ".zst", ".zip")


def parts_of(path: str | Path) -> list[Path]:
    """The files of a pattern (``part-*.csv``) or a folder, part-2 before part-10; empty if the path names one file.

    Of a folder the Parquet and text files are taken, except those whose names begin with a dot or an underscore.
    """
    text = str(path)
    if Path(text).is_dir():
        inside = sorted(Path(text).iterdir(), key=_order)
        files = [file for file in inside if file.is_file() and file.name[0] not in "._" and format_of(file)]
        if not files:
            raise InputError(f"{text!r} is a folder without Parquet or CSV files")
    elif Path(text).exists() or not glob.has_magic(text):
        return []
    else:
        files = sorted((Path(file) for file in glob.glob(text, recursive=True) if Path(file).is_file()), key=_order)
        if not files:
            raise InputError(f"no file matches {text!r}")
    _refuse_mixtures(files)
    return files


def parts_stem(path: str | Path) -> str:
    """What names results of a table in parts: its folder, or the start of a pattern without signs at its end."""
    if Path(path).is_dir():
        return Path(path).resolve().name or "parts"
    return re.split(r"[*?\[]", Path(path).name)[0].rstrip("-_.") or "parts"


def format_of(file: Path) -> str | None:
    """The format of a part, "Parquet" or "text", by the suffix; None for other files."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if len(suffixes) > 1 and suffixes[-1] in COMPRESSED_SUFFIXES:
        suffixes.pop()
    return next((kind for kind, known in SUFFIXES.items() if suffixes[-1:] and suffixes[-1] in known), None)


def _order(file: Path) -> list[Any]:
    """Key that sorts numbers in names by their value."""
    return [(int(word), "") if word.isdecimal() else (-1, word) for word in re.split(r"(\d+)", str(file))]


def _refuse_mixtures(files: list[Path]) -> None:
    kinds = [format_of(file) for file in files]
    other = next((file for file, kind in zip(files, kinds, strict=True) if kind is None), None)
    if other is not None:
        raise InputError(f"{str(other)!r} cannot be a part of a table: parts are Parquet or CSV files")
    if len(set(kinds)) > 1:
        first, second = files[0], next(file for file, kind in zip(files, kinds, strict=True) if kind != kinds[0])
        raise InputError(f"the parts {str(first)!r} and {str(second)!r} have different formats: use one of them")


def joined(parts: Iterable[tuple[str, Grid]]) -> Grid:
    """The rows of several parts, each with its name, below each other; raise ``InputError`` if columns differ."""
    named = list(parts)
    name, first = named[0]
    for other, grid in named[1:]:
        refuse_other_columns(other, list(grid.written), name, list(first.written))
        if grid.levels != first.levels:
            raise InputError(f"the ordered columns of {other!r} have other levels than those of {name!r}")
    written = {column: np.concatenate([grid.written[column] for _, grid in named]) for column in first.written}
    notes = list(dict.fromkeys(note for _, grid in named for note in grid.notes))
    return Grid(written, first.separator, first.levels, notes)


def refuse_other_columns(name: str, columns: list[str], first: str, expected: list[str]) -> None:
    """Raise ``InputError`` if a part has other columns than the first; their order may differ."""
    missing, more = (some_of([repr(c) for c in a if c not in b]) for a, b in ((expected, columns), (columns, expected)))
    if missing or more:
        what = " and ".join([f"has no column {missing}"] * bool(missing) + [f"also has {more}"] * bool(more))
        raise InputError(f"the parts have different columns: compared with {first!r}, {name!r} {what}")
