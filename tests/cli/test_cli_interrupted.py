"""Ctrl-C at any moment: exit code 130, no traceback, nothing written."""

from __future__ import annotations

import signal
import sys

import pytest

from fusewise.cli._exits import Stop, exiting


@pytest.mark.parametrize("error", [KeyboardInterrupt, Stop])
def test_an_interruption_outside_of_the_command_exits_with_130(error):
    with pytest.raises(SystemExit) as caught, exiting():
        raise error
    assert caught.value.code == 130


def test_what_typer_makes_of_an_interruption_exits_with_130():
    def command():
        try:
            signal.raise_signal(signal.SIGINT)
        except Stop:
            raise SystemError from None  # as a compiled loop does

    with pytest.raises(SystemExit) as caught, exiting():
        command()
    assert caught.value.code == 130
    with pytest.raises(SystemExit) as caught, exiting():
        sys.exit(2)
    assert caught.value.code == 2
