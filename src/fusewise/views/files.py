"""Pages and pictures to their files: whole or not at all, and never over another file unless told to."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


def refuse_to_overwrite(path: Path, *, force: bool) -> None:
    """Raise OSError where `path` cannot or must not be written; found out before any long computation."""
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {str(path)!r}: it is a folder; name a file in it")
    if path.exists() and not force:
        raise FileExistsError(f"{str(path)!r} is there already: choose another name, or pass force=True to replace it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {str(path)!r}: there is no folder {str(path.parent)!r}")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"cannot write {str(path)!r}: the folder {str(path.parent)!r} is not writable")


def write_whole(path: Path, content: bytes) -> None:
    """Write beside `path`, then rename: a reader, a full disk or Ctrl-C never meets half a page."""
    draft = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        # The same kind of error (PermissionError stays one), with the name of the user's file in it.
        raise type(error)(error.errno, f"cannot write {str(path)!r}: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            draft.unlink()
