"""Saving and loading of models as arrays and JSON, which cannot run code.

A model file is an uncompressed zip archive:

===================  ====================================================================================
``manifest.json``    version of the format, versions of the libraries, number of arrays
``model.json``       the model as a tree of plain values, known classes by name, and references to arrays
``arrays/0.npy`` ..  numeric arrays in NumPy's own format
===================  ====================================================================================

``_archive`` reads and writes the bytes, ``_codec`` lists the classes that may appear and converts objects to trees and
back.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from fusewise.saving._archive import ModelFileError, read_archive, write_archive
from fusewise.saving._codec import ESTIMATORS, Decoder, Encoder, saveable

__all__ = ["ESTIMATORS", "ModelFileError", "load", "load_with_extra", "save", "saveable"]


def save(model: BaseEstimator, path: str | os.PathLike[str], *,
         extra: dict[str, Any] | None = None) -> None:  # fmt: skip
    """Write a model to a file for ``load``; an existing file is overwritten, but left unchanged if writing fails.

    Parameters
    ----------
    model : the estimator, fitted or not.
    path : file to write; conventionally ends in ``.fusewise``.
    extra : plain JSON values to save with the model.
    """
    if hasattr(model, "_settle"):
        model._settle()  # what is computed when it is asked for
    encoder = Encoder()
    tree = {"model": encoder.encode(model, type(model).__name__), "extra": extra or {}}
    write_archive(Path(path), type(model).__name__, tree, encoder.arrays)


def load(path: str | os.PathLike[str]) -> BaseEstimator:
    """Read the model that ``save`` wrote to `path`. No code from the file is run.

    Raises
    ------
    ModelFileError
        The file is not a Fusewise model, is damaged, or was written in another version of the format.
    """
    return load_with_extra(path)[0]


def load_with_extra(path: str | os.PathLike[str]) -> tuple[BaseEstimator, dict[str, Any]]:
    """Read a model and the values saved with it."""
    path = Path(path)
    versions, tree, arrays = read_archive(path)
    extra = tree.get("extra")
    try:
        model = Decoder(arrays).decode(tree.get("model"))
    except Exception as error:  # whatever a part that is not what it should be makes of it
        by = versions.get("fusewise", "?")
        raise ModelFileError(f"{str(path)!r} (written by fusewise {by}) cannot be read: {error}") from error
    if type(model).__name__ not in ESTIMATORS or not isinstance(extra, dict):
        raise ModelFileError(f"{str(path)!r} does not contain a model but {type(model).__name__}")
    return model, extra
