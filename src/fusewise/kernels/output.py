"""Atomic writing of files, and strictly valid JSON."""

from __future__ import annotations

import json
import math
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

if sys.platform != "win32":
    import fcntl

#: A temporary folder, and what is in it: the lock of the run that made it, files being written, the same files once all
#: of them are complete, and the files they replace.
STAGE, LOCK, DRAFTS, WHOLE, BEFORE = ".fusewise-", "lock", "drafts", "whole", "before"


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

    If the process is killed, old and new files are never mixed in a folder: it holds all or some of the old or of the
    new ones, and the next run that writes to it restores the old or completes the new (``finish_killed_runs``).

    Parameters
    ----------
    targets : the files to write.
    replace : replace files that are there at the end; otherwise such a file is a FileExistsError.
    """
    with ExitStack() as stack:
        made = {folder: stack.enter_context(_stage(folder)) for folder in dict.fromkeys(t.parent for t in targets)}
        stages = {target: made[target.parent] for target in targets}
        yield {target: stage / DRAFTS / target.name for target, stage in stages.items()}
        _move(stages, replace)


def _move(stages: dict[Path, Path], replace: bool) -> None:
    """Move the file of every target from its stage to the target; if one move fails, restore what was there."""
    moved: list[Path] = []
    try:
        for target, stage in stages.items():
            with (stage / DRAFTS / target.name).open("rb+") as file:
                os.fsync(file.fileno())
        if replace and len(stages) > 1:  # a single file is replaced in one step
            for target, stage in stages.items():
                if target.exists():
                    os.replace(target, stage / BEFORE / target.name)
        for stage in dict.fromkeys(stages.values()):
            os.replace(stage / DRAFTS, stage / WHOLE)
        for target, stage in stages.items():
            (os.replace if replace else _rename)(stage / WHOLE / target.name, target)
            moved.append(target)
    except BaseException:
        for target in moved:
            target.unlink(missing_ok=True)
        for target, stage in stages.items():
            with suppress(FileNotFoundError):
                os.replace(stage / BEFORE / target.name, target)
        for stage in stages.values():
            with suppress(FileNotFoundError):  # a run that is killed now is not to be completed
                os.replace(stage / WHOLE, stage / DRAFTS)
        raise
    for target, stage in stages.items():
        (stage / BEFORE / target.name).unlink(missing_ok=True)


def _rename(source: Path, target: Path) -> None:
    """Rename a file without replacing another one."""
    try:
        os.link(source, target)  # fails if the target exists, which os.rename does only on Windows
    except OSError as error:
        if target.exists():
            message = f"{str(target)!r} was written by another program meanwhile, and is kept"
            raise FileExistsError(f"{message}: choose another name, or delete the file and try again") from error
        os.replace(source, target)  # a file system without hard links
    else:
        source.unlink()


@contextmanager
def _stage(folder: Path) -> Iterator[Path]:
    """Make a temporary folder, locked for as long as this process lives; delete it at the end."""
    finish_killed_runs(folder)
    stage = folder / f"{STAGE}{secrets.token_hex(4)}"
    stage.mkdir()
    try:
        with (stage / LOCK).open("xb") as lock:
            if sys.platform != "win32":
                with suppress(OSError):  # a file system without locks, where killed runs are not finished
                    fcntl.flock(lock, fcntl.LOCK_EX)
            (stage / DRAFTS).mkdir()
            (stage / BEFORE).mkdir()  # last: other runs look at stages that have it, and find them locked
            try:
                yield stage
            finally:
                for name in (DRAFTS, WHOLE):
                    shutil.rmtree(stage / name, ignore_errors=True)
    finally:
        (stage / LOCK).unlink(missing_ok=True)
        with suppress(OSError):  # old files could not be restored: the next run will try
            (stage / BEFORE).rmdir()
        with suppress(OSError):
            stage.rmdir()


def finish_killed_runs(folder: Path) -> None:
    """Complete or undo what runs were moving to a folder when they were killed, and delete what else they left."""
    for before in folder.glob(f"{STAGE}*/{BEFORE}"):
        stage = before.parent
        with ExitStack() as stack:
            stack.enter_context(suppress(OSError))  # the run that made it is alive
            if sys.platform == "win32":  # where a file that is open cannot be deleted
                (stage / LOCK).unlink(missing_ok=True)
            elif (stage / LOCK).exists():
                lock = stack.enter_context((stage / LOCK).open("rb"))
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            kept = stage / WHOLE if (stage / WHOLE).exists() else before
            for file in kept.iterdir():
                with suppress(FileExistsError):
                    _rename(file, folder / file.name)
            shutil.rmtree(stage)


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
