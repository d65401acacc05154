"""Ctrl-C at any moment: exit code 130, no traceback, nothing written."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
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


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize("seconds", [0.8, 1.6, 2.4])
def test_a_command_that_is_interrupted(tmp_path, seconds):
    rng = np.random.default_rng(0)
    np.savetxt(tmp_path / "t.csv", rng.normal(size=(3000, 6)), delimiter=",", header="a,b,c,d,e,f", comments="")
    command = [sys.executable, "-m", "fusewise.cli", "fit", "t.csv", "--out", "found"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    if process.returncode == 0:
        pytest.skip("the command was done before")
    # While Python itself starts, before any line of ours, it dies of the signal.
    assert process.returncode in (130, -signal.SIGINT)
    assert process.returncode == -signal.SIGINT or "Traceback" not in errors
    assert not (tmp_path / "found").exists()
