"""The bytes of a model file: an uncompressed zip archive of JSON and of arrays in NumPy's own format.

Nothing is compressed, so that a small file cannot expand to a large one. Members are read into memory by their known
names and never unpacked to disk.
"""

from __future__ import annotations

import io
import json
import platform
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy
import sklearn

import fusewise
from fusewise.kernels import Values
from fusewise.support import refuse_unwritable, written_whole

FORMAT, VERSION = "fusewise-model", 6

MANIFEST, MODEL = "manifest.json", "model.json"

#: What a model file contains, as ``load`` reads it: versions of the libraries, the tree of the model, its arrays.
Contents = tuple[dict[str, str], dict[str, Any], list[Values]]


class ModelFileError(ValueError):
    """The file is not a Fusewise model that this version can read."""


def write_archive(path: Path, name: str, tree: dict[str, Any], arrays: Sequence[Values]) -> None:
    """Write the tree and the arrays of a model of class `name` to a temporary file, then rename it to `path`."""
    refuse_unwritable(path)
    libraries = {"fusewise": fusewise, "numpy": np, "scipy": scipy, "scikit-learn": sklearn}
    versions = {"python": platform.python_version()} | {key: str(of.__version__) for key, of in libraries.items()}
    about = {"format": FORMAT, "version": VERSION, "model": name, "versions": versions, "arrays": len(arrays)}
    # ZipInfo's date is fixed, so that the same model gives the same bytes.
    with written_whole(path) as file, zipfile.ZipFile(file, "w") as archive:
        for member, content in ((MANIFEST, about), (MODEL, tree)):
            text = json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1)
            archive.writestr(zipfile.ZipInfo(member), text)
        for k, array in enumerate(arrays):
            stream = io.BytesIO()
            np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"arrays/{k}.npy"), stream.getvalue())


def read_archive(path: Path) -> Contents:
    """Read the versions, the tree of the model and its arrays."""
    with path.open("rb") as file:  # errors of opening the file are not damage
        try:
            return _read(file)
        except ModelFileError as error:
            raise ModelFileError(f"{str(path)!r} {error}") from error
        except Exception as error:  # zipfile, json and NumPy raise many kinds for damaged files
            raise ModelFileError(f"{str(path)!r} is not a Fusewise model, or it is damaged: {error}") from error


def _read(file: BinaryIO) -> Contents:
    with zipfile.ZipFile(file) as archive:  # which checks the checksum of every member that is read
        if MANIFEST not in archive.namelist():
            raise ModelFileError("is a zip archive, but not a Fusewise model: it has no manifest")
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise ModelFileError("is not a Fusewise model: it is compressed, which models never are")
        about = json.loads(archive.read(MANIFEST))
        version = about["version"]
        if about["format"] != FORMAT:
            raise ModelFileError(f"is not a Fusewise model: its format is {str(about['format'])[:80]!r}")
        if version != VERSION:
            what, advice = ("a newer", "upgrade Fusewise") if version > VERSION else ("an older", "fit the model again")
            raise ModelFileError(
                f"was written by {what} version (format {version}, this one reads {VERSION}): {advice}"
            )
        tree = json.loads(archive.read(MODEL))
        arrays = [_array(archive.read(f"arrays/{k}.npy")) for k in range(about["arrays"])]
    if not isinstance(tree, dict):
        raise ModelFileError(f"is damaged: {MODEL} does not contain a model")
    return dict(about["versions"]), tree, arrays


def _array(data: bytes) -> Values:
    """A numeric array, never a pickle, that takes all of the bytes."""
    stream = io.BytesIO(data)
    array: Values = np.lib.format.read_array(stream, allow_pickle=False)
    if array.dtype.kind not in "biufc" or stream.read(1):
        raise ValueError("an array does not consist of numbers, or does not fit its bytes")
    return array
