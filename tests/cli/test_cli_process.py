"""The command as a process: entry points, exit codes, Ctrl-C, and what happens without its libraries."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from cli_helpers import write

import fusewise.cli
from fusewise.cli import main


@pytest.mark.parametrize("module", ["fusewise", "fusewise.cli"])
def test_as_a_module(module):
    ran = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout == f"fusewise {fusewise.__version__}\n"


def test_handlers_of_signals_are_those_of_before(capsys):
    """Whoever calls the command from Python keeps theirs."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(SystemExit):
        main(["--version"])
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.skipif(os.name == "nt", reason="signals differ")
@pytest.mark.parametrize(("number", "code", "said"), [
    (signal.SIGINT, 130, "interrupted; nothing was written"), (signal.SIGTERM, 143, ""),
])  # fmt: skip
def test_ctrl_c_and_termination_leave_nothing(tmp_path, number, code, said):
    X = np.random.default_rng(0).normal(size=(2000, 10))
    X[::3, 1] = np.nan
    write(tmp_path / "t.csv", [f"f{j}" for j in range(10)], X)
    command = [sys.executable, "-m", "fusewise.cli", "fit", "t.csv", "--verbose"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stderr.readline()  # the merge tree is done, the comparison is under way
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert said in err
    assert "Traceback" not in err
    assert out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


COMMANDS = ["fit", "predict", "impute", "path", "guarantee", "plan", "demo"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(run, command):
    ran = run(command, "--help")
    assert ran.code == 0
    assert f"Example: fusewise {command} " in " ".join(ran.out.split())
