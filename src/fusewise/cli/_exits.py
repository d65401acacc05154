"""Errors caused by the user's input, by an interruption or by a bug, and their exit codes.

The user's input is at fault where the code says so: an ``InputError``, or an error of the system (``OSError``) or of
too little memory. Whatever else ends a command is a bug, also a ``ValueError`` that NumPy raises in our code.
"""

from __future__ import annotations

import os
import platform
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from typer.core import TyperGroup

import fusewise
from fusewise.support import InputError, visible

BUG, INVALID_INPUT, INTERRUPTED, TERMINATED = 1, 2, 130, 128 + signal.SIGTERM

#: Where bugs are reported.
ISSUES = "https://github.com/fusewise/fusewise/issues"


class Stop(BaseException):
    """Ctrl-C in a command. Not a KeyboardInterrupt, on which the library returns the best result so far."""


class GuardedGroup(TyperGroup):
    """Commands that report invalid input and interruptions as a message and an exit code, without a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except InputError as error:
            _end(INVALID_INPUT, visible(str(error)))
        except BrokenPipeError:
            raise  # the reader closed the pipe, as in `fusewise fit t.csv | head`
        except OSError as error:
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (else Python would fail again to flush it at exit)
            _end(INVALID_INPUT, visible(str(error.strerror or error)))
        except MemoryError as error:
            why = str(error).replace("n_neighbors=", "--neighbors ") or "use a larger machine or a smaller table"
            _end(INVALID_INPUT, f"not enough memory: {why}")
        except (KeyboardInterrupt, Stop) as error:
            _end(INTERRUPTED, f"interrupted; {str(error) or 'nothing was written'}")


def _end(code: int, message: str) -> NoReturn:
    print(f"fusewise: {message}", file=sys.stderr)
    sys.exit(code)


@contextmanager
def exiting() -> Iterator[None]:
    """Turn signals into exceptions, so that partially written files are cleaned up, and exceptions into exit codes.

    Ctrl-C ends with 130 also where a compiled loop makes another error of it, and SIGTERM, as from a batch system, with
    143. Any error that a command has not reported is a bug: it is said, and the exit code is 1.
    """
    interrupted: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        interrupted.append(number)
        raise Stop

    def terminate(number: int, frame: FrameType | None) -> None:
        sys.exit(TERMINATED)

    try:
        with handling(signal.SIGINT, interrupt), handling(signal.SIGTERM, terminate):
            yield
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | Stop) or (interrupted and getattr(error, "code", 1) not in (0, 2)):
            sys.exit(INTERRUPTED)
        if not isinstance(error, Exception):
            raise
        _report_bug(error)
        sys.exit(BUG)


@contextmanager
def handling(number: int, handler: Any) -> Iterator[None]:
    """Handle a signal otherwise until the end of the block."""
    if threading.current_thread() is not threading.main_thread():  # handlers can only be set there
        yield
        return
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@contextmanager
def naming_options(names: dict[str, str]) -> Iterator[None]:
    """Report an ``InputError`` of the library in terms of the options; `names` maps its arguments to them."""
    try:
        yield
    except InputError as error:
        first, space, rest = str(error).partition(" ")
        raise InputError(names.get(first, first) + space + rest) from error


def _report_bug(error: Exception) -> None:
    """Say on stderr that an error is a bug of the program and what to send; before it, where it happened."""
    for line in "".join(traceback.format_exception(error)).splitlines():
        print(visible(line), file=sys.stderr)
    what = visible(f"{type(error).__name__}: {error}".splitlines()[0])
    versions = f"fusewise {fusewise.__version__}, Python {platform.python_version()}, {platform.platform()}"
    print(
        f"fusewise: this is a bug of fusewise, not a fault of your input ({what}). Please report it at {ISSUES}: send "
        f"the lines above, the command, the versions ({versions}) and, if you may share it, the table.",
        file=sys.stderr,
    )
