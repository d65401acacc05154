"""Errors caused by the user's input or by an interruption, and their exit codes."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import ParamSpec, TypeVar

import typer

from fusewise.kernels.words import visible
from fusewise.tables.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")

INVALID_INPUT = 2
INTERRUPTED = 130


class Stop(BaseException):
    """Ctrl-C in a command. Not a KeyboardInterrupt, on which the library returns the best result so far."""


def guarded(command: Callable[P, R]) -> Callable[P, R]:
    """Report the errors of a command as a message on stderr and an exit code, without a traceback."""

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
def reporting_input_errors(names: dict[str, str] | None = None) -> Iterator[None]:
    """Report a ValueError of the library as an ``InputError``.

    Parameters
    ----------
    names : the library's name of an argument -> the command-line option.
    """
    try:
        yield
    except ValueError as error:
        message = str(error)
        for ours, theirs in (names or {}).items():
            if message.startswith(f"{ours} "):
                message = theirs + message[len(ours) :]
        raise InputError(message) from error
