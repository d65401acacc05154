"""Models to files and back: arrays and JSON, nothing that could run.

A model file is a zip archive, nothing in it compressed:

===================  ====================================================================================
``manifest.json``    format and its version, who wrote it, size and SHA-256 of every other member
``model.json``       the model as a tree of plain values, known classes by name, and references to arrays
``arrays/0.npy`` ..  numeric arrays in NumPy's own format
===================  ====================================================================================

``archive`` is bytes and their checks, ``codec`` objects and their trees, ``registry`` the classes that may appear.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from fusewise.saving.archive import ModelFileError, read_archive, write_archive
from fusewise.saving.codec import Decoder, Encoder
from fusewise.saving.registry import ESTIMATORS

__all__ = ["ModelFileError", "SavedModel", "load", "load_with_extra", "save"]


@dataclass(frozen=True, eq=False)
class SavedModel:
    """What a model file held: the model, what was kept beside it, and the versions of what wrote it."""

    model: BaseEstimator
    extra: dict[str, Any]
    versions: dict[str, str]


def save(model: BaseEstimator, path: str | os.PathLike[str], *,
         extra: dict[str, Any] | None = None) -> None:  # fmt: skip
    """Write a model to a file, which ``load`` reads; a file of that name is replaced, whole or not at all.

    Parameters
    ----------
    model : fitted or not.
    path : where to; by custom it ends in ``.fusewise``.
    extra : plain JSON values to keep beside the model.
    """
    encoder = Encoder()
    tree = {"model": encoder.encode(model, type(model).__name__), "extra": extra or {}}
    write_archive(Path(path), type(model).__name__, tree, encoder.arrays)


def load(path: str | os.PathLike[str]) -> BaseEstimator:
    """Read the model that ``save`` wrote to `path`. Runs nothing from the file; refuses what is not such a model.

    Raises
    ------
    ModelFileError
        The file is no Fusewise model, is damaged, or was written by a newer version.
    """
    return load_with_extra(path).model


def load_with_extra(path: str | os.PathLike[str]) -> SavedModel:
    """Read a model with what was kept beside it."""
    path = Path(path)
    manifest, tree, arrays = read_archive(path)
    extra = tree.get("extra")
    try:
        model = Decoder(arrays).decode(tree.get("model"))
    except (ValueError, TypeError, RecursionError) as error:
        by = manifest.versions.get("fusewise", "?")
        raise ModelFileError(f"{str(path)!r} (written by fusewise {by}) cannot be read here: {error}") from error
    if type(model).__name__ not in ESTIMATORS or not isinstance(extra, dict):
        raise ModelFileError(f"{str(path)!r} holds no model, but {type(model).__name__}")
    return SavedModel(model, extra, manifest.versions)
