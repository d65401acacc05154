"""The files of a table: parts of a pattern or a folder, and the bytes of a file, decompressed."""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from fusewise.kernels import available_memory
from fusewise.support import InputError, counted, in_words, some_of
from fusewise.tables._grid import READABLE

STANDARD_INPUT = "-"

#: Bytes that are decompressed at a time, and the largest share of the free memory that all of them may take: a table
#: takes several times as much as its text.
CHUNK, LARGEST_SHARE = 2**20, 0.25


@dataclass(frozen=True)
class Source:
    """The content of a file, decompressed; `name` is the path as given."""

    name: str
    suffix: str  # in lower case, without that of a compression
    data: bytes
    part: str | None = None  # after ``::``: a table of a database, a sheet, or a file of a zip archive


def file_and_part(path: str | Path) -> tuple[Path, str | None]:
    """Split ``file.db::table`` into the file and the table in it (None if none is given)."""
    text = str(path)
    if "::" in text and not Path(text).exists():
        file, _, part = text.rpartition("::")
        return Path(file), part
    return Path(text), None


def files_of(path: str | Path) -> list[Path]:
    """The files from which a table is read: one, or its parts; none for standard input."""
    return [] if str(path) == STANDARD_INPUT else parts_of(path) or [file_and_part(path)[0]]


def stem_of(path: str | Path) -> str:
    """What names the results: ``data`` for data.csv.gz, ``part`` for part-*.csv, a folder, the table of a database."""
    if str(path) == STANDARD_INPUT:
        return "stdin"
    if Path(path).is_dir():
        return Path(path).resolve().name or "parts"
    if parts_of(path):
        return re.split(r"[*?\[]", Path(path).name)[0].rstrip("-_.") or "parts"
    file, part = file_and_part(path)
    name = PurePath(part or file.name)
    while name.suffix.lower() in COMPRESSED_SUFFIXES and PurePath(name.stem).suffix:
        name = PurePath(name.stem)
    return name.stem


def open_source(path: str | Path) -> Source:
    """Read and decompress the bytes of a table; raise ``InputError`` if they cannot be read."""
    file, part = file_and_part(path)
    if str(path) == STANDARD_INPUT:
        source = Source("standard input", "", sys.stdin.buffer.read())
    else:
        if not file.exists():
            raise InputError(f"file {str(file)!r} does not exist")
        if file.is_dir():
            raise InputError(f"{str(file)!r} is a folder: expected {READABLE}")
        try:
            source = Source(str(path), file.suffix.lower(), file.read_bytes(), part)
        except OSError as error:
            raise InputError(f"cannot read {str(file)!r}: {error.strerror}") from error
    for _ in range(2):  # a compressed file inside a zip archive, at most
        source = _decompressed(source, file)
    if not source.data.strip():
        raise InputError(f"{source.name!r} is empty")
    return source


def _decompressed(source: Source, file: Path) -> Source:
    """The source with one layer of compression removed; unchanged if it is not compressed."""
    if source.data[:4] == b"PK\x03\x04":
        return _unzipped(source)
    found = next((known for known in COMPRESSIONS if source.data.startswith(known[0])), None)
    if found is None:
        return source
    _, kind, opened = found
    try:
        data = _read_all(opened(io.BytesIO(source.data)), source.name)
    except InputError:
        raise
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{source.name!r} is not a readable {kind} file (truncated or damaged?): {error}") from error
    inner = Path(file.stem).suffix.lower() if source.suffix in COMPRESSED_SUFFIXES else source.suffix
    return replace(source, suffix=inner, data=data)


def _unzipped(source: Source) -> Source:
    """The only file of a zip archive, or the one named after ``::``; an Excel file is returned unchanged."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(source.data))
        names = [info.filename for info in archive.infolist() if not info.is_dir()]
        if "[Content_Types].xml" in names:
            return source if source.suffix in (".xlsx", ".xlsm") else replace(source, suffix=".xlsx")
        names = [name for name in names if not name.startswith("__MACOSX/")]
        chosen = names[0] if source.part is None and len(names) == 1 else source.part
        if chosen not in names:
            listed = some_of([repr(name) for name in names]) or "none"
            raise InputError(
                f"{source.name!r} contains {counted(len(names), 'file')} ({listed}): name one as ZIP::FILE"
            )
        return Source(source.name, PurePath(chosen).suffix.lower(), _read_all(archive.open(chosen), source.name))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, EOFError) as error:
        if source.suffix in (".xlsx", ".xlsm"):
            return source  # the reader of Excel files reports what is wrong
        raise InputError(f"{source.name!r} is not a readable zip file (truncated or damaged?): {error}") from error


def _read_all(stream: Any, name: str) -> bytes:
    """What a compressed stream holds; ``InputError`` if it is too much for the memory, as soon as that is known."""
    most, parts, size = LARGEST_SHARE * available_memory(), [], 0
    with stream:
        while part := stream.read(CHUNK):
            size += len(part)
            if size > most:
                raise InputError(f"{name!r} has more than {in_words(most)} when decompressed: too much for the memory")
            parts.append(bytes(part))
    return b"".join(parts)


def _zstd(file: io.BytesIO) -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise InputError('reading .zst files needs pyarrow: pip install "fusewise[cli]"') from error
    return pa.CompressedInputStream(file, "zstd")


#: First bytes of a compressed file, name of the compression, and function to open it.
COMPRESSIONS: tuple[tuple[bytes, str, Callable[[io.BytesIO], Any]], ...] = (
    (b"\x1f\x8b", "gzip", gzip.open),
    (b"\xfd7zXZ\x00", "xz", lzma.LZMAFile),
    (b"BZh", "bzip2", bz2.BZ2File),
    (b"\x28\xb5\x2f\xfd", "zstd", _zstd),
)


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
    first = {format_of(file): file for file in reversed(files)}
    if None in first:
        raise InputError(f"{str(first[None])!r} cannot be a part of a table: parts are Parquet or CSV files")
    if len(first) > 1:
        shown = " and ".join(sorted(repr(str(file)) for file in first.values()))
        raise InputError(f"the parts {shown} have different formats: use one of them")
    return files


def format_of(file: Path) -> str | None:
    """The format of a part, "Parquet" or "text", by the suffix; None for other files."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if len(suffixes) > 1 and suffixes[-1] in COMPRESSED_SUFFIXES:
        suffixes.pop()
    return next((kind for kind, known in SUFFIXES.items() if suffixes[-1:] and suffixes[-1] in known), None)


def _order(file: Path) -> list[Any]:
    """Key that sorts numbers in names by their value."""
    return [(int(word), "") if word.isdecimal() else (-1, word) for word in re.split(r"(\d+)", str(file))]
