"""Atomic writing of files, and strictly valid JSON."""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np


def refuse_to_overwrite(path: Path, *, force: bool) -> None:
    """Raise OSError if `path` cannot or must not be written; called before any long computation."""
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {str(path)!r}: it is a folder; give the name of a file in it")
    if path.exists() and not force:
        raise FileExistsError(f"{str(path)!r} already exists: choose another name, or pass force=True to replace it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"cannot write {str(path)!r}: the folder {str(path.parent)!r} is not writable")


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that is renamed to `path` if the block ends without an error.

    Until then it is a temporary file in the same folder, so that no reader, full disk or Ctrl-C leaves half a file.
    """
    draft = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        # The same type of error (such as PermissionError), with the name of the user's file in its message.
        raise type(error)(error.errno, f"cannot write {str(path)!r}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            draft.unlink()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    with written_whole(path) as file:
        file.write(content)


def finite_json(data: Any, **options: Any) -> str:
    """JSON with null for numbers that are not finite, NumPy numbers as Python numbers, and other objects as strings."""
    return json.dumps(_plain(data), allow_nan=False, **options)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | bool | int | None) else str(value)
