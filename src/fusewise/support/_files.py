"""Atomic writing of files, and strictly valid JSON."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, ClassVar

#: How the name of a temporary folder begins.
STAGE = ".fusewise-"


def refuse_unwritable(path: Path) -> None:
    """Raise OSError if no file can be written to `path`."""
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {str(path)!r}: it is a folder; give the name of a file in it")
    if path.is_symlink() and not path.exists():
        raise FileExistsError(f"cannot write {str(path)!r}: it is a symbolic link to a file that does not exist")
    if path.exists() and not path.is_file():
        raise FileExistsError(f"cannot write {str(path)!r}: it is not a regular file")
    blocked = next((folder for folder in path.parents if folder.exists() and not folder.is_dir()), None)
    if blocked is not None:
        raise NotADirectoryError(f"cannot write {str(path)!r}: {str(blocked)!r} is a file, not a folder")


def refuse_to_overwrite(path: Path, *, force: bool) -> None:
    """Raise OSError if `path` cannot or must not be written; called before any long computation."""
    refuse_unwritable(path)
    if path.exists() and not force:
        raise FileExistsError(f"{str(path)!r} already exists: choose another name, or pass force=True to replace it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"cannot write {str(path)!r}: the folder {str(path.parent)!r} is not writable")


@contextmanager
def written_together(targets: Sequence[Path], *, replace: bool) -> Iterator[dict[Path, Path]]:
    """Yield a temporary path for each target; all files move to their targets if the block ends without an error.

    A process that is killed while it moves files leaves each of them as it was or new, never half of it; and a
    temporary folder (``STAGE``) beside them, which can be deleted. Without `replace`, a file that is there at the end
    is a FileExistsError.
    """
    with ExitStack() as stack:
        stages: dict[Path, Path] = {}
        for folder in dict.fromkeys(target.parent for target in targets):
            stage = TemporaryDirectory(prefix=STAGE, dir=folder, ignore_cleanup_errors=True)
            stages[folder] = Path(stack.enter_context(stage))
        drafts = {target: stages[target.parent] / target.name for target in targets}
        yield drafts
        for draft in drafts.values():
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
        there = next((target for target in targets if target.exists()), None)
        if there is not None and not replace:
            message = f"{str(there)!r} was written by another program meanwhile, and is kept"
            raise FileExistsError(f"{message}: choose another name, or delete the file and try again")
        for target, draft in drafts.items():
            os.replace(draft, target)


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of `path` if the block ends without an error.

    Until then it is a temporary file in the same folder, so that no reader, full disk or Ctrl-C leaves half a file.
    """
    try:
        with written_together([path], replace=True) as places, places[path].open("xb") as file:
            yield file
    except OSError as error:
        # The same type of error (such as PermissionError), with the name of the user's file in its message.
        raise type(error)(error.errno, f"cannot write {str(path)!r}: {error.strerror or error}") from error


def write_whole(path: Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    with written_whole(path) as file:
        file.write(content)


class PlainRecord:
    """A dataclass of results that can be written as JSON: its public fields, and the properties of ``_written``."""

    _written: ClassVar[tuple[str, ...]] = ()

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        names = [field.name for field in fields(self) if not field.name.startswith("_")]  # type: ignore[arg-type]
        return {name: _plain(getattr(self, name)) for name in (*names, *self._written)}


def finite_json(data: Any, **options: Any) -> str:
    """JSON with null for numbers that are not finite, arrays as lists, and other objects as text."""
    return json.dumps(_plain(data), allow_nan=False, **options)


def _plain(value: Any) -> Any:
    if isinstance(value, PlainRecord):
        return value.as_dict()
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | bool | int | None) else str(value)
