"""The command as a process: entry points, exit codes, Ctrl-C, and what happens without its libraries."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from cli_helpers import STEADY, write

import fusewise.cli
from fusewise.cli import main


def fusewise_command(*arguments, **options):
    command = [sys.executable, "-m", "fusewise.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **options)


def test_version(run):
    assert run("--version").out == f"fusewise {fusewise.__version__}\n"


def test_fit(tmp_path, table):
    ran = fusewise_command("fit", table, *STEADY, "--out", tmp_path / "out", "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout)["clusters"] == 3


def test_mistakes_exit_with_2_and_no_traceback(tmp_path):
    ran = fusewise_command("fit", tmp_path / "no.csv")
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith("fusewise: there is no file")


@pytest.mark.parametrize("name", ["typer", "rich"])
def test_without_its_libraries(name, monkeypatch, capsys):
    for module in [m for m in sys.modules if m.startswith("fusewise.cli.") or m.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)
        monkeypatch.delattr(fusewise.cli, module.rpartition(".")[2], raising=False)
    monkeypatch.setitem(sys.modules, name, None)  # what makes `import` fail
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 2
    assert f'needs typer and rich, and {name} is missing: pip install "fusewise[cli]"' in capsys.readouterr().err


def test_only_binary_tables_need_pandas(run, tmp_path, table, monkeypatch):
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert run("fit", table).code == 0
    ran = run("fit", "t.parquet")
    assert ran.code == 2
    assert 'reading Parquet needs pandas: pip install "fusewise[cli]"' in ran.err


@pytest.mark.skipif(os.name == "nt", reason="signals differ")
def test_ctrl_c_exits_with_130_and_writes_nothing(tmp_path):
    X = np.random.default_rng(0).normal(size=(4000, 10))
    X[::3, 1] = np.nan
    write(tmp_path / "t.csv", [f"f{j}" for j in range(10)], X)
    command = [sys.executable, "-m", "fusewise.cli", "fit", "t.csv", "--verbose"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stderr.readline()  # the merge tree is done, the comparison is under way
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; nothing was written" in err
    assert out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize("command", ["fit", "guarantee", "plan"])
def test_help_has_an_example(run, command):
    ran = run(command, "--help")
    assert ran.code == 0
    assert f"Example: fusewise {command} " in " ".join(ran.out.split())
