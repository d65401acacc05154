"""The error for invalid input. (A module without NumPy: ``fusewise --help`` imports it.)"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class InputError(ValueError):
    """The user's input is invalid; the message says what is wrong, where (row, column) and what to do.

    Every error that is raised on purpose for a wrong table, file, option or argument is one. Any other ``ValueError``
    comes from a fault of the program, such as arrays that do not fit together, and a command says so.
    """


@contextmanager
def as_input_errors() -> Iterator[None]:
    """Raise a ``ValueError`` of another library's check of the user's input as an ``InputError``."""
    try:
        yield
    except InputError:
        raise
    except ValueError as error:
        raise InputError(str(error)) from error
