"""Results to files: all of them or none, and nothing overwritten unless told to."""

from __future__ import annotations

import csv
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from fusewise.cli.errors import InputError
from fusewise.cli.reading import Cells, Dialect


@contextmanager
def staged(out: Path, names: Sequence[str], *, force: bool, source: Path) -> Iterator[Path]:
    """A temporary folder beside (or in) `out`, whose files move to `out` when the block ends well.

    Whether `out` can be written to is found out at the start, before any long computation.

    Parameters
    ----------
    names : files that will be written.
    force : replace those that are there.
    source : the user's table, never replaced.
    """
    _refuse_conflicts(out, names, force, source)
    made = [folder for folder in (out, *out.parents) if not folder.exists()]
    stage = (out if out.exists() else out.parent) / f".fusewise-{secrets.token_hex(4)}"
    try:
        stage.mkdir(parents=True)
        yield stage
        if out.exists():
            for name in names:
                os.replace(stage / name, out / name)
        else:
            os.rename(stage, out)
        made = []
    except OSError as error:
        raise InputError(f"cannot write to {str(out)!r}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        for folder in made:
            with suppress(OSError):
                folder.rmdir()


def _refuse_conflicts(out: Path, names: Sequence[str], force: bool, source: Path) -> None:
    blocked = next((folder for folder in (out, *out.parents) if folder.exists() and not folder.is_dir()), None)
    if blocked is not None:
        raise InputError(f"cannot write to {str(out)!r}: {str(blocked)!r} is a file, not a folder")
    there = [name for name in names if (out / name).exists()]
    if any((out / name).samefile(source) for name in there):
        raise InputError(f"the results would replace the table itself ({str(source)!r}): choose another --out")
    if there and not force:
        raise InputError(f"{str(out)!r} already holds {', '.join(there)}: choose another --out, or add --force")


def write_csv(path: Path, columns: dict[str, Cells], dialect: Dialect) -> None:
    """Columns side by side; a missing cell is empty."""
    # A tab in a .csv would surprise every reader; a semicolon is what its decimal commas need.
    separator = ";" if dialect.separator == ";" else ","
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
