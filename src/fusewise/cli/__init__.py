"""The command line: ``fusewise fit``, ``predict``, ``impute``, ``path``, ``guarantee``, ``plan``, ``demo``, ...

=================================  ==============================================================================
``app``, ``options``               the commands put together; options that several share
``commands/``                      the options of each command
``fit``, ``predict``, ``impute``,  what each command does: options in, numbers out
``path``, ``guarantee``, ``plan``,
``demo``, ``bench``
``model``, ``clustering``          options -> an estimator; a table -> clusters, for the commands that fit
``writing``                        results -> files, all of them or none
``console``, ``summary``,          numbers -> something to read
``promises``, ``picture``
``errors``                         what is the user's to mend, and the exit codes
=================================  ==============================================================================
"""

from __future__ import annotations

import io
import signal
import sys
import threading
from collections.abc import Sequence

#: What the command line needs beyond the library itself; pandas only where a file is no text (``reading``).
NEEDED = ("typer", "rich")

TERMINATED = 128 + signal.SIGTERM


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 2 the input is at fault, 130 interrupted, 143 terminated.

    Parameters
    ----------
    arguments : what follows ``fusewise``; None takes it from the command line.
    """
    # A batch system's SIGTERM ends as an exit, so that nothing half-written is left behind.
    if threading.current_thread() is threading.main_thread():  # only there can handlers be set
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(TERMINATED))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without bars and arrows must not end in a traceback
    try:
        import rich  # noqa: F401  (the commands need it when they run; better to say so now)

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
