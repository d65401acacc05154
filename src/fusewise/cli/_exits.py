"""Errors caused by the user's input, by an interruption or by a bug, and their exit codes.

The user's input is at fault where the code says so: an ``InputError``, or an error of the system (``OSError``) or of
too little memory. Whatever else ends a command is a bug, also a ``ValueError`` that NumPy raises in our code.
"""

from __future__ import annotations

import functools
import os
import platform
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import ParamSpec, TypeVar

import typer

import fusewise
from fusewise.support import InputError, visible

P = ParamSpec("P")
R = TypeVar("R")

BUG = 1
INVALID_INPUT = 2
INTERRUPTED = 130

#: Where bugs are reported.
ISSUES = "https://github.com/fusewise/fusewise/issues"


class Stop(BaseException):
    """Ctrl-C in a command. Not a KeyboardInterrupt, on which the library returns the best result so far."""


def guarded(command: Callable[P, R]) -> Callable[P, R]:
    """Report bad input and interruptions as a message on stderr and an exit code, without a traceback."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            result = command(*args, **kwargs)
            sys.stdout.flush()
            return result
        except InputError as error:
            print(f"fusewise: {visible(str(error))}", file=sys.stderr)
            raise typer.Exit(INVALID_INPUT) from None
        except BrokenPipeError:
            raise  # the reader closed the pipe, as in `fusewise fit t.csv | head`
        except OSError as error:
            print(f"fusewise: {visible(str(error.strerror or error))}", file=sys.stderr)
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (else Python would fail again to flush it at exit)
            raise typer.Exit(INVALID_INPUT) from None
        except MemoryError as error:
            why = str(error).replace("n_neighbors=", "--neighbors ") or "use a larger machine or a smaller table"
            print(f"fusewise: not enough memory: {why}", file=sys.stderr)
            raise typer.Exit(INVALID_INPUT) from None
        except (KeyboardInterrupt, Stop):
            print("fusewise: interrupted; nothing was written", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None

    return run


@contextmanager
def stopping_at_once() -> Iterator[None]:
    """Make Ctrl-C end the computation without a result, as is usual for commands."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stop

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def naming_options(names: dict[str, str]) -> Iterator[None]:
    """Report an ``InputError`` of the library in terms of the options.

    Parameters
    ----------
    names : the library's name of an argument -> the command-line option.
    """
    try:
        yield
    except InputError as error:
        message = str(error)
        for ours, theirs in names.items():
            if message.startswith(f"{ours} "):
                message = theirs + message[len(ours) :]
        raise InputError(message) from error


def report_bug(error: Exception) -> None:
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
