"""The command line: ``fusewise fit``, ``predict``, ``impute``, ``path``, ``guarantee``, ``plan``, ``demo``, ...

===========================================  ==========================================================
``_app``, ``_commands``, ``_options``        the application; arguments, options and help of its commands
``_fit``, ``_parts``, ``_predict``,          what each command computes and writes
``_path``, ``_guarantee``, ``_demo``,
``_mri``, ``_reproduce``
``_summary``, ``_terminal``, ``_output``     results as text, as pictures in the terminal, and as files
``_exits``                                   invalid input, interruptions and bugs; exit codes
===========================================  ==========================================================
"""

from __future__ import annotations

import io
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

#: Packages the command line needs in addition to the library; pandas is needed only for binary tables.
NEEDED = ("typer", "rich")

INTERRUPTED, TERMINATED = 130, 128 + signal.SIGTERM


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 (done), 1 (a bug), 2 (invalid input), 130 (interrupted) or 143 (terminated).

    Parameters
    ----------
    arguments : the arguments after ``fusewise``; None takes them from ``sys.argv``.
    """
    with _exiting_if_terminated():
        _run(arguments)


def _run(arguments: Sequence[str] | None) -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode must not cause a traceback
    try:
        import rich  # noqa: F401  (needed by every command: report it now if it is missing)

        from fusewise.cli._app import app
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
        sys.exit(INTERRUPTED)
    with _exiting_on_errors():
        app(args=None if arguments is None else list(arguments), prog_name="fusewise")


@contextmanager
def _exiting_if_terminated() -> Iterator[None]:
    """Raise SystemExit on SIGTERM, as from a batch system, so that partially written files are cleaned up."""
    if threading.current_thread() is not threading.main_thread():  # handlers can only be set there
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(TERMINATED))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _exiting_on_errors() -> Iterator[None]:
    """Exit with 130 after Ctrl-C, wherever it came: also where typer, or a compiled loop, makes another error of it.

    Any other error that a command has not reported is a bug: it is said, and the exit code is 1.
    """
    from fusewise.cli._exits import BUG, Stop, report_bug

    interrupted: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        interrupted.append(number)
        raise KeyboardInterrupt

    main_thread = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, interrupt) if main_thread else None
    try:
        yield
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | Stop) or (interrupted and getattr(error, "code", 1) not in (0, 2)):
            sys.exit(INTERRUPTED)
        if not isinstance(error, Exception):
            raise
        report_bug(error)
        sys.exit(BUG)
    finally:
        if main_thread:
            signal.signal(signal.SIGINT, before)
