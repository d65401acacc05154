"""The command line: ``fusewise fit``, ``guarantee``, ``plan``.

=====================  ==========================================================================
``app``                the commands and their options
``fit``, ``guarantee``, ``plan``   what each command does: options in, numbers out
``reading``            a file -> its cells
``columns``            cells -> what each column is, and why some are not used
``encoding``           columns -> a table of numbers with holes, and back to the user's units
``writing``            results -> files, all of them or none
``console``            numbers -> something to read
``errors``             what is the user's to mend, and the exit codes
=====================  ==========================================================================
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

#: What the command line needs beyond the library itself; pandas only where a file is no text (``reading``).
NEEDED = ("typer", "rich")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 2 the input is at fault, 130 interrupted.

    Parameters
    ----------
    arguments : what follows ``fusewise``; None takes it from the command line.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without bars and arrows must not end in a traceback
    try:
        from fusewise.cli.app import app
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        if missing not in NEEDED:
            raise
        print(
            f'the command line needs typer and rich, and {missing} is missing: pip install "fusewise[cli]"',
            file=sys.stderr,
        )
        sys.exit(2)
    except KeyboardInterrupt:  # while the libraries are loading
        sys.exit(130)
    app(args=None if arguments is None else list(arguments), prog_name="fusewise")
