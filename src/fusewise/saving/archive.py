"""Reading and writing of the bytes of a model file, with checks of every member.

Nothing is compressed, so that a small file cannot expand to a large one. Members are read into memory by their known
names and never unpacked to disk.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import platform
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

import fusewise
from fusewise.kernels.output import written_whole
from fusewise.kernels.types import Values
from fusewise.saving.codec import NUMERIC

FORMAT, VERSION = "fusewise-model", 2

MANIFEST, MODEL = "manifest.json", "model.json"
ARRAY = re.compile(r"arrays/(0|[1-9]\d*)\.npy")


class ModelFileError(ValueError):
    """The file is not a Fusewise model that this version can read."""


@dataclass(frozen=True)
class Manifest:
    """Content of the manifest: library versions, and (bytes, SHA-256) of each member."""

    versions: dict[str, str]
    members: dict[str, tuple[int, str]]


def write_archive(path: Path, name: str, tree: dict[str, Any], arrays: Sequence[Values]) -> None:
    """Write the tree and the arrays of a model of class `name` to a temporary file, then rename it to `path`."""
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
    return json.dumps(tree, allow_nan=False, ensure_ascii=False, indent=1).encode()


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
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = _sizes(archive, path.stat().st_size)
            manifest = _manifest(archive, sizes)
            data = {name: _checked(archive, name, *expected) for name, expected in manifest.members.items()}
    except ModelFileError as error:
        raise ModelFileError(f"{str(path)!r} {error}") from error.__cause__
    # zipfile raises many kinds of errors for damaged archives.
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError, LookupError) as error:
        raise ModelFileError(f"{str(path)!r} is not a Fusewise model, or it is damaged: {error}") from error
    try:
        tree = json.loads(data.pop(MODEL))
        arrays = [_from_npy(data[f"arrays/{k}.npy"]) for k in range(len(data))]
    except (ValueError, KeyError, RecursionError) as error:
        raise ModelFileError(f"{str(path)!r} is damaged: {error}") from error
    if not isinstance(tree, dict):
        raise ModelFileError(f"{str(path)!r} is damaged: {MODEL} does not contain a model")
    return manifest, tree, arrays


def _sizes(archive: zipfile.ZipFile, whole: int) -> dict[str, int]:
    """Size of each member; unknown names, compression, and overlapping members are refused."""
    members = archive.infolist()
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
        given = json.loads(archive.read(MANIFEST))
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


def _from_npy(data: bytes) -> Values:
    """Read a numeric array (never a pickle), and check its header against the number of bytes."""
    stream = io.BytesIO(data)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(stream)
    if version not in read:
        raise ValueError(f"an array has an unknown version {version} of NumPy's format")
    shape, fortran, dtype = read[version](stream)
    if dtype.kind not in NUMERIC:
        raise ValueError(f"an array has dtype {dtype}, but only numbers are allowed")
    left = len(data) - stream.tell()
    if any(n < 0 for n in shape) or math.prod(shape) * dtype.itemsize != left:
        raise ValueError(f"an array of shape {shape} does not fit its {left} bytes")
    # A copy, because an array backed by these bytes would be read-only.
    return np.ndarray(shape, dtype, data, stream.tell(), order="F" if fortran else "C").copy(order="K")
