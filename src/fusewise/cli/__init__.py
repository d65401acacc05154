"""The command line: ``fusewise fit``, ``predict``, ``impute``, ``path``, ``guarantee``, ``demo``, ...

===================================  =======================================================
``_app``, ``_options``               the commands, their arguments and options
``_fit``, ``_parts``, ``_models``,   what each command computes
``_paper``, ``_mri``
``_output``                          what is printed and written
``_exits``                           invalid input, interruptions and bugs; exit codes
===================================  =======================================================
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

#: Packages the command line needs in addition to the library; pandas is needed only for binary tables.
NEEDED = ("typer", "rich")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 (done), 1 (a bug), 2 (invalid input), 130 (interrupted) or 143 (terminated).

    Parameters
    ----------
    arguments : the arguments after ``fusewise``; None takes them from ``sys.argv``.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode must not cause a traceback
    try:
        import rich  # noqa: F401  (needed by every command: report it now if it is missing)

        from fusewise.cli._app import app
        from fusewise.cli._exits import exiting
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        if missing not in NEEDED:
            raise
        print(
            f'the command line needs typer and rich, but {missing} is not installed: pip install "fusewise[cli]"',
            file=sys.stderr,
        )
        sys.exit(2)
    except KeyboardInterrupt:  # Ctrl-C while the libraries are loading
        sys.exit(130)
    with exiting():
        app(args=None if arguments is None else list(arguments), prog_name="fusewise")
