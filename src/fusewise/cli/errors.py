"""What goes wrong by the user's input or wish, and the exit code of each."""

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

from fusewise.tables.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")

INPUT_AT_FAULT = 2
INTERRUPTED = 130


class Stop(BaseException):
    """Ctrl-C. Not a KeyboardInterrupt, which the library takes as "give me what you have so far"."""


def guarded(command: Callable[P, R]) -> Callable[P, R]:
    """Turn errors of a command into a message on stderr and an exit code, without a traceback."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            result = command(*args, **kwargs)
            sys.stdout.flush()
            return result
        except InputError as error:
            print(f"fusewise: {error}", file=sys.stderr)
            raise typer.Exit(INPUT_AT_FAULT) from None
        except BrokenPipeError:
            raise  # whoever reads has seen enough, as in `fusewise fit t.csv | head`
        except OSError as error:
            print(f"fusewise: {error.strerror or error}", file=sys.stderr)
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (or Python would try, and complain, once more at its exit)
            raise typer.Exit(INPUT_AT_FAULT) from None
        except MemoryError as error:
            why = str(error).replace("n_neighbors=", "--neighbors ") or "it takes a larger machine, or a smaller table"
            print(f"fusewise: not enough memory: {why}", file=sys.stderr)
            raise typer.Exit(INPUT_AT_FAULT) from None
        except (KeyboardInterrupt, Stop):
            print("fusewise: interrupted; nothing was written", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None

    return run


@contextmanager
def stopping_at_once() -> Iterator[None]:
    """Let Ctrl-C end the library's work without a result, as one expects of a command."""
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
def blaming_input(names: dict[str, str] | None = None) -> Iterator[None]:
    """Report the library's ValueError as the user's to mend.

    Parameters
    ----------
    names : the library's name of an argument -> the command line's.
    """
    try:
        yield
    except ValueError as error:
        message = str(error)
        for ours, theirs in (names or {}).items():
            if message.startswith(f"{ours} "):
                message = theirs + message[len(ours) :]
        raise InputError(message) from error
