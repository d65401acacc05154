"""Write results to files: all of them or none, and without overwriting files unless asked to."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from fusewise.support import InputError, refuse_unwritable, written_together
from fusewise.tables import Dialect

#: How text begins that spreadsheets take for a formula (also in the wide characters of East Asian fonts), after
#: spaces, tabs and line breaks; and the numbers among it.
FORMULA_SIGNS = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
NUMBER = re.compile(r"[+-]?[\d.,]+([eE][+-]?\d+)?\s?%?")


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
    folders = dict.fromkeys(target.parent for target in targets)
    _refuse_conflicts(targets, force, sources)
    made = {folder for of in folders for folder in (of, *of.parents) if not folder.exists()}
    try:
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        with written_together(targets, replace=force) as places:
            yield places
    except OSError as error:
        where = ", ".join(repr(str(folder)) for folder in folders)
        # The system's message only: a library's message would name the temporary file.
        why = os.strerror(error.errno) if error.errno else error
        raise InputError(f"cannot write to {where}: {why}") from error
    finally:
        for folder in sorted(made, key=lambda folder: -len(folder.parts)):
            with suppress(OSError):  # it has the results
                folder.rmdir()


def _refuse_conflicts(targets: Sequence[Path], force: bool, sources: Sequence[Path]) -> None:
    if len({target.resolve() for target in targets}) < len(targets):
        raise InputError(f"two results would be written to the same file: {', '.join(repr(str(t)) for t in targets)}")
    for target in targets:
        try:
            refuse_unwritable(target)
        except OSError as error:
            raise InputError(str(error)) from error
    there = [target for target in targets if target.exists()]
    for target in there:
        replaced = next((source for source in sources if target.samefile(source)), None)
        if replaced is not None:
            raise InputError(f"the results would overwrite the input file {str(replaced)!r}: choose another output")
    if there and not force:
        names, exist = ", ".join(map(str, there)), "exists" if len(there) == 1 else "exist"
        raise InputError(f"{names} already {exist}: choose another output, or add --force to overwrite")


def write_csv(path: Path, columns: Mapping[str, Iterable[Any]], dialect: Dialect, *, safe: bool = False) -> None:
    """Write columns to a CSV file; missing cells are left empty.

    If `safe`, every cell is in double quotes, and text that a spreadsheet may take for a formula begins with ``'``.
    """
    # A .csv file should not be tab-separated; decimal commas need semicolons.
    separator = ";" if ";" in dialect.separator or "," in dialect.decimal else ","
    quoting: Literal[0, 1] = csv.QUOTE_ALL if safe else csv.QUOTE_MINIMAL
    known = _without_formulas if safe else list
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n", quoting=quoting)
        writer.writerow(known(columns))
        writer.writerows(map(known, zip(*columns.values(), strict=True)))


def _without_formulas(cells: Iterable[Any]) -> list[Any]:
    """Cells that a spreadsheet takes for text or numbers: formulas get a leading apostrophe, numbers stay."""
    return [
        f"'{cell}"
        if isinstance(cell, str) and cell.lstrip().startswith(FORMULA_SIGNS) and not NUMBER.fullmatch(cell)
        else cell
        for cell in cells
    ]
