"""Reading and writing of the bytes of a model file, with checks of every member.

Nothing is compressed, so that a small file cannot expand to a large one. Members are read into memory by their known
names and never unpacked to disk.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import platform
import re
import struct
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy
import sklearn

import fusewise
from fusewise.kernels import Values
from fusewise.support import written_whole

FORMAT, VERSION = "fusewise-model", 3

MANIFEST, MODEL = "manifest.json", "model.json"
ARRAY = re.compile(r"arrays/(0|[1-9]\d*)\.npy")
#: The header of an array in version 1 of NumPy's format, as NumPy writes it for plain numbers.
HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<>|][biufc]\d{1,2})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18},? ?){0,8})\), \} *\n",
    re.DOTALL,
)

#: The most members of an archive, bytes of one of its texts, and parts of those (nested objects take a hundred times
#: their text in memory). A path of 1000 points has some 3000 members.
MOST_MEMBERS, MOST_TEXT, MOST_PARTS = 20_000, 16_000_000, 1_000_000

#: What ``zipfile``, ``json`` and NumPy raise for damaged files.
DAMAGE = (
    zipfile.BadZipFile, EOFError, OSError, ValueError, TypeError, ArithmeticError, NotImplementedError, RuntimeError,
    LookupError, AttributeError, struct.error,
)  # fmt: skip


class ModelFileError(ValueError):
    """The file is not a Fusewise model that this version can read."""


@dataclass(frozen=True)
class Manifest:
    """Content of the manifest: library versions, and (bytes, SHA-256) of each member."""

    versions: dict[str, str]
    members: dict[str, tuple[int, str]]


def write_archive(path: Path, name: str, tree: dict[str, Any], arrays: Sequence[Values]) -> None:
    """Write the tree and the arrays of a model of class `name` to a temporary file, then rename it to `path`."""
    if len(arrays) > MOST_MEMBERS - 2:
        raise ValueError(f"cannot write {str(path)!r}: the model has more than {MOST_MEMBERS} arrays")
    if path.exists() and not path.is_file():
        raise OSError(f"cannot write {str(path)!r}: it exists and is not a regular file")
    with written_whole(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        members = {MODEL: _add(archive, MODEL, _as_json(tree))}
        for k, array in enumerate(arrays):
            members[f"arrays/{k}.npy"] = _add(archive, f"arrays/{k}.npy", _as_npy(array))
        about = {"format": FORMAT, "version": VERSION, "model": name, "versions": _versions()}
        _add(archive, MANIFEST, _as_json({**about, "members": members}))


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> dict[str, Any]:
    # ZipInfo's date is fixed, so that the same model gives the same bytes.
    archive.writestr(zipfile.ZipInfo(name), data)
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _as_json(tree: Any) -> bytes:
    text = json.dumps(tree, allow_nan=False, ensure_ascii=False, indent=1).encode()
    _from_json(text, "the text of the model")  # so that what is written can be read
    return text


def _as_npy(array: Values) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
    return stream.getvalue()


def _versions() -> dict[str, str]:
    """Versions of the libraries on which a model's results depend, for information."""
    libraries = {"fusewise": fusewise, "numpy": np, "scipy": scipy, "scikit-learn": sklearn}
    return {"python": platform.python_version()} | {name: str(of.__version__) for name, of in libraries.items()}


def read_archive(path: Path) -> tuple[Manifest, dict[str, Any], list[Values]]:
    """Read the manifest, the tree of the model and its arrays, and check them against the manifest."""
    with _BoundedFile(path) as file:  # errors of opening the file are not damage
        try:
            return _read(file, path.stat().st_size)
        except ModelFileError as error:
            raise ModelFileError(f"{str(path)!r} {error}") from error.__cause__
        except DAMAGE as error:
            raise ModelFileError(f"{str(path)!r} is not a Fusewise model, or it is damaged: {error}") from error


def _read(file: _BoundedFile, whole: int) -> tuple[Manifest, dict[str, Any], list[Values]]:
    with zipfile.ZipFile(file) as archive:
        file.most = None
        sizes = _sizes(archive, whole)
        manifest = _manifest(archive, sizes)
        data = {name: _checked(archive, name, *expected) for name, expected in manifest.members.items()}
    try:
        tree = _from_json(data.pop(MODEL), MODEL)
        arrays = [_from_npy(data[f"arrays/{k}.npy"]) for k in range(len(data))]
    except DAMAGE as error:
        raise ModelFileError(f"is damaged: {error}") from error
    if not isinstance(tree, dict):
        raise ModelFileError(f"is damaged: {MODEL} does not contain a model")
    return manifest, tree, arrays


class _BoundedFile(io.FileIO):
    """A file that refuses to read much at once: ``zipfile`` reads the directory of an archive so."""

    most: int | None = 100 * MOST_MEMBERS

    def read(self, size: int | None = -1, /) -> bytes:
        """Read so many bytes, or all that are left."""
        wanted = os.fstat(self.fileno()).st_size - self.tell() if size is None or size < 0 else size
        if self.most is not None and wanted > self.most:
            raise ModelFileError("is not a Fusewise model: its directory is too long")
        return super().read(size) or b""


def _sizes(archive: zipfile.ZipFile, whole: int) -> dict[str, int]:
    """Size of each member; unknown names, compression, and overlapping members are refused."""
    members = archive.infolist()
    if len(members) > MOST_MEMBERS:
        raise ModelFileError(f"is not a Fusewise model: it has {len(members)} members")
    names = [member.filename for member in members]
    if MANIFEST not in names:
        raise ModelFileError("is a zip archive, but not a Fusewise model: it has no manifest")
    for member in members:
        if member.filename not in (MANIFEST, MODEL) and not ARRAY.fullmatch(member.filename):
            raise ModelFileError(f"is not a Fusewise model: it contains {member.filename[:80]!r}")
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ModelFileError(f"is not a Fusewise model: {member.filename!r} is compressed, which models never are")
    if len(set(names)) < len(names) or sum(member.file_size for member in members) > whole:
        raise ModelFileError("is damaged: its parts overlap")
    return {member.filename: member.file_size for member in members}


def _manifest(archive: zipfile.ZipFile, sizes: dict[str, int]) -> Manifest:
    try:
        given = _from_json(archive.read(MANIFEST), MANIFEST)
        kind, version = given["format"], given["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFileError("is not a Fusewise model: its manifest cannot be read") from error
    if kind != FORMAT or not isinstance(version, int) or version < 1:
        raise ModelFileError(f"is not a Fusewise model: the format in its manifest is {str(kind)[:80]!r}")
    if version != VERSION:
        what, advice = ("a newer", "upgrade Fusewise") if version > VERSION else ("an older", "fit the model again")
        raise ModelFileError(f"was written by {what} version (format {version}, this one reads {VERSION}): {advice}")
    try:
        members = {str(name): (int(m["bytes"]), str(m["sha256"])) for name, m in given["members"].items()}
        versions = {str(name): str(number) for name, number in given["versions"].items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError("is damaged: its manifest is incomplete") from error
    if {name: size for name, (size, _) in members.items()} != {n: s for n, s in sizes.items() if n != MANIFEST}:
        raise ModelFileError("is damaged: its parts differ from those listed in its manifest")
    if MODEL not in members:
        raise ModelFileError(f"is damaged: it has no {MODEL}")
    return Manifest(versions, members)


def _checked(archive: zipfile.ZipFile, name: str, size: int, digest: str) -> bytes:
    data = archive.read(name)
    if len(data) != size or hashlib.sha256(data).hexdigest() != digest:
        raise ModelFileError(f"is damaged: the checksum of {name} is wrong")
    return data


def _from_json(data: bytes, name: str) -> Any:
    """Parse JSON that is neither too long nor has too many parts, and whose numbers are finite."""
    if len(data) > MOST_TEXT or sum(map(data.count, (b",", b"[", b"{", b":"))) > MOST_PARTS:
        raise ValueError(f"{name} is larger than that of any model")
    return json.loads(data, parse_float=_finite, parse_int=_integer, parse_constant=_finite)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:20]} is not finite")
    return number


def _integer(text: str) -> int:
    if len(text) > 20:
        raise ValueError(f"the number {text[:20]}... is too long")
    return int(text)


def _from_npy(data: bytes) -> Values:
    """Read a numeric array (never a pickle), and check its header against the number of bytes.

    The header is matched as ``_as_npy`` writes it; NumPy's own reader evaluates it as a Python literal.
    """
    header = HEADER.match(data)
    if header is None or header.end() != 10 + int.from_bytes(data[8:10], "little"):
        raise ValueError("an array has a header that is not NumPy's: only numbers are allowed")
    kind, fortran, sizes = (part.decode() for part in header.groups())
    dtype, shape = np.dtype(kind), tuple(int(size) for size in sizes.split(",") if size.strip())
    left = len(data) - header.end()
    if math.prod(shape) * dtype.itemsize != left:
        raise ValueError(f"an array of shape {shape} does not fit its {left} bytes")
    # A copy, because an array backed by these bytes would be read-only.
    order: Literal["F", "C"] = "F" if fortran == "True" else "C"
    return np.ndarray(shape, dtype, data, header.end(), order=order).copy(order="K")
