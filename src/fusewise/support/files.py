"""Atomic writing of files, and strictly valid JSON."""

from __future__ import annotations

import json
import math
import os
import re
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

#: A temporary folder, and what is in it: the lock of the run that made it, files being written, the files they replace;
#: in the first one of a run a list of its others, which is renamed when the files of all of them are complete; and in
#: the others the place of the first.
STAGE, LOCK, DRAFTS, BEFORE = ".fusewise-", "lock", "drafts", "before"
PLANNED, COMPLETE, FIRST = "planned", "complete", "first"
STAGE_NAME = re.compile(rf"{re.escape(STAGE)}[0-9a-f]{{8}}")


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
    new ones, and the next run that writes to one of the folders restores the old or completes the new, in all of them
    (``finish_killed_runs``). One rename decides which.

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
    first = next(iter(stages.values()))
    moved: list[Path] = []
    try:
        for target, stage in stages.items():
            with (stage / DRAFTS / target.name).open("rb+") as file:
                os.fsync(file.fileno())
        _plan(first, [stage for stage in dict.fromkeys(stages.values()) if stage != first])
        if replace and len(stages) > 1:  # a single file is replaced in one step
            for target, stage in stages.items():
                if target.exists():
                    os.replace(target, stage / BEFORE / target.name)
        os.replace(first / PLANNED, first / COMPLETE)  # a run that is killed from now on is completed
        for target, stage in stages.items():
            (os.replace if replace else _rename)(stage / DRAFTS / target.name, target)
            moved.append(target)
    except BaseException:
        for target in moved:
            with suppress(OSError):
                os.replace(target, stages[target] / DRAFTS / target.name)
        (first / COMPLETE).unlink(missing_ok=True)  # and from now on undone
        for target, stage in stages.items():
            with suppress(FileNotFoundError):
                os.replace(stage / BEFORE / target.name, target)
        raise
    for target, stage in stages.items():
        (stage / BEFORE / target.name).unlink(missing_ok=True)


def _plan(first: Path, others: Sequence[Path]) -> None:
    """Write to the stages of a run where its others are, by paths that hold if all of them are moved."""
    for stage in others:
        (stage / FIRST).write_text(_way(first, stage), encoding="utf-8")
    (first / PLANNED).write_text(json.dumps([_way(stage, first) for stage in others]), encoding="utf-8")


def _way(to: Path, start: Path) -> str:
    try:
        return os.path.relpath(to.resolve(), start.resolve())
    except ValueError:  # another drive
        return str(to.resolve())


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
                shutil.rmtree(stage / DRAFTS, ignore_errors=True)
    finally:
        for name in (PLANNED, COMPLETE, FIRST, LOCK):
            (stage / name).unlink(missing_ok=True)
        with suppress(OSError):  # old files could not be restored: the next run will try
            (stage / BEFORE).rmdir()
        with suppress(OSError):
            stage.rmdir()


def finish_killed_runs(folder: Path) -> None:
    """Complete or undo what runs were moving to a folder when they were killed, and delete what else they left.

    If such a run was moving files to other folders as well, it is completed or undone there too.
    """
    for stage in filter(_is_stage, folder.glob(f"{STAGE}*")):
        with ExitStack() as stack:
            stack.enter_context(suppress(OSError))  # the run that made it is alive
            _take_lock(stage, stack)
            stages, complete = _of_one_run(stage.resolve())
            for other in stages:
                if other != stage.resolve():
                    _take_lock(other, stack)
            for one in reversed(stages):  # the first one last, as it says whether the run was complete
                _settle(one, complete)


def _is_stage(path: Path) -> bool:
    """Whether a path is a temporary folder of a run.

    What a stage says about others is not trusted, as it may have come with an archive: files are moved out of stages,
    and deleted, by their name alone, and links are not followed.
    """
    if not STAGE_NAME.fullmatch(path.name) or path.is_symlink() or not (path / BEFORE).is_dir():
        return False
    return not any((path / name).is_symlink() for name in (BEFORE, DRAFTS))


def _of_one_run(stage: Path) -> tuple[list[Path], bool]:
    """The stages of the run that made a stage, the first one first; and whether the files of all were complete."""
    # A stage without the place of the first: it is the first, or the run was killed before it wrote the place. If
    # there is no stage at that place, the folder was moved away.
    first = next(iter(_stages_at(stage, [_written(stage / FIRST)])), stage)
    complete = (first / COMPLETE).is_file()
    listed: Any = None
    with suppress(ValueError, RecursionError):  # the run was killed before it had written them
        listed = json.loads(_written(first / (COMPLETE if complete else PLANNED)) or "[]")
    return list(dict.fromkeys([first, *_stages_at(first, listed), stage])), complete


def _stages_at(start: Path, ways: Any) -> list[Path]:
    """The stages at paths from another one; paths to anything else are left out."""
    found = []
    for way in ways if isinstance(ways, list) else ():
        with suppress(OSError, ValueError, RuntimeError):  # no path at all, or one that never ends
            found += [(start / way).resolve()] if isinstance(way, str) else []
    return [path for path in found if _is_stage(path)]


def _written(file: Path) -> str | None:
    """The text of a file of a stage; None if there is none."""
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else None


def _take_lock(stage: Path, stack: ExitStack) -> None:
    """Lock a stage; raises OSError if the run that made it is alive."""
    if sys.platform == "win32":  # where a file that is open cannot be deleted
        (stage / LOCK).unlink(missing_ok=True)
    elif (stage / LOCK).is_file():
        lock = stack.enter_context((stage / LOCK).open("rb"))
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _settle(stage: Path, complete: bool) -> None:
    """Move the new files of a stage to their places if the run was complete, else the old ones; delete the stage."""
    kept = stage / (DRAFTS if complete else BEFORE)
    for file in kept.iterdir() if kept.exists() else ():
        with suppress(FileExistsError):
            _rename(file, stage.parent / file.name)
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
