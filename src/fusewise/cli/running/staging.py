"""Write results to files: all of them or none, and without overwriting files unless asked to."""

from __future__ import annotations

import csv
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from fusewise.tables.errors import InputError
from fusewise.tables.files import Cells
from fusewise.tables.text import Dialect


@contextmanager
def staged(targets: Sequence[Path], *, force: bool, sources: Sequence[Path] = ()) -> Iterator[dict[Path, Path]]:
    """Yield a temporary path for each target; all files move to their targets when the block ends without an error.

    Conflicts are detected at the start, before any long computation.

    Parameters
    ----------
    targets : files that will be written.
    force : overwrite existing files.
    sources : input files (a table, a model), which are never overwritten.
    """
    _refuse_conflicts(targets, force, sources)
    folders = dict.fromkeys(target.parent for target in targets)
    made = [folder for of in folders for folder in (of, *of.parents) if not folder.exists()]
    stages = {folder: folder / f".fusewise-{secrets.token_hex(4)}" for folder in folders}
    try:
        for stage in stages.values():
            stage.mkdir(parents=True)
        places = {target: stages[target.parent] / target.name for target in targets}
        yield places
        _move(places)
        made = []
    except OSError as error:
        where = ", ".join(repr(str(folder)) for folder in folders)
        # The system's message only: a library's message would name the temporary file.
        why = os.strerror(error.errno) if error.errno else error
        raise InputError(f"cannot write to {where}: {why}") from error
    finally:
        for stage in stages.values():
            shutil.rmtree(stage, ignore_errors=True)
        for folder in sorted(made, key=lambda folder: -len(folder.parts)):
            with suppress(OSError):
                folder.rmdir()


def _move(places: dict[Path, Path]) -> None:
    """Move every file to its target; if one move fails, restore the previous state."""
    moved: list[Path] = []
    before: dict[Path, Path] = {}
    try:
        for target, place in places.items():
            if target.exists():
                before[target] = place.with_name(f"{place.name}.before")
                os.replace(target, before[target])
            os.replace(place, target)
            moved.append(target)
    except BaseException:
        for target in moved:
            target.unlink(missing_ok=True)
        for target, kept in before.items():
            if kept.exists():
                os.replace(kept, target)
        raise


def _refuse_conflicts(targets: Sequence[Path], force: bool, sources: Sequence[Path]) -> None:
    if len({target.resolve() for target in targets}) < len(targets):
        raise InputError(f"two results would be written to the same file: {', '.join(repr(str(t)) for t in targets)}")
    for target in targets:
        blocked = next((folder for folder in target.parents if folder.exists() and not folder.is_dir()), None)
        if blocked is not None:
            raise InputError(f"cannot write {str(target)!r}: {str(blocked)!r} is a file, not a folder")
    there = [target for target in targets if target.exists()]
    for target in there:
        replaced = next((source for source in sources if target.samefile(source)), None)
        if replaced is not None:
            raise InputError(f"the results would overwrite the input file {str(replaced)!r}: choose another output")
        if not target.is_file():
            raise InputError(f"cannot write {str(target)!r}: it is a {'folder' if target.is_dir() else 'special file'}")
    if there and not force:
        names, exist = ", ".join(map(str, there)), "exists" if len(there) == 1 else "exist"
        raise InputError(f"{names} already {exist}: choose another output, or add --force to overwrite")


def write_csv(path: Path, columns: dict[str, Cells], dialect: Dialect) -> None:
    """Write columns to a CSV file; missing cells are left empty."""
    # A .csv file should not be tab-separated; decimal commas need semicolons.
    separator = ";" if ";" in dialect.separator or "," in dialect.decimal else ","
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
