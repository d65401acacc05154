"""The command as a process: entry points, exit codes, Ctrl-C, bugs, and text that gives no orders to the terminal."""

from __future__ import annotations

import ast
import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import write

import fusewise
import fusewise.cli
from fusewise.cli import _output as console
from fusewise.cli import main
from fusewise.cli._exits import Stop, exiting
from fusewise.support import visible


@pytest.mark.parametrize("module", ["fusewise", "fusewise.cli"])
def test_as_a_module(module):
    ran = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout == f"fusewise {fusewise.__version__}\n"


def test_help_does_not_wait_for_numpy():
    loaded = "import sys, fusewise.cli._app; print('numpy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", loaded], text=True) == "False\n"


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
    X = np.random.default_rng(0).normal(size=(20_000, 10))
    X[::3, 1] = np.nan
    write(tmp_path / "t.csv", [f"f{j}" for j in range(10)], X)
    command = [sys.executable, "-m", "fusewise.cli", "fit", "t.csv", "--verbose"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        first = process.stderr.readline()  # the merge tree is done, the comparison is under way
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == code, first + err
    assert said in err
    assert "Traceback" not in err
    assert out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


COMMANDS = ["fit", "predict", "impute", "path", "guarantee", "demo"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(run, command):
    ran = run(command, "--help")
    assert ran.code == 0
    assert f"Example: fusewise {command} " in " ".join(ran.out.split())


PACKAGE = Path(fusewise.__file__).parent

#: Errors that NumPy, Python and SciPy raise in code that is wrong. The first three are ValueErrors, as bad input is.
FAULTS = {
    "shapes": lambda: np.ones(2) + np.ones(3),
    "an empty array": lambda: np.zeros(0).max(),
    "a singular matrix": lambda: np.linalg.cholesky(-np.eye(2)),
    "an index": lambda: [][0],
    "a type": lambda: None + 1,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bug_is_said_to_be_one(fault, capsys):
    with pytest.raises(SystemExit) as end, exiting():
        FAULTS[fault]()
    assert end.value.code == 1
    said = capsys.readouterr().err
    last = said.splitlines()[-1]
    assert "this is a bug of fusewise, not a fault of your input" in last
    for sent in ("issues", "the lines above", "the command", f"fusewise {fusewise.__version__}", "the table"):
        assert sent in last
    assert "Traceback" in said


@pytest.mark.parametrize(("arguments", "said"), [
    ("fit t.csv --n-clusters 5", "--n-clusters 5 is more than the 4 rows"),
    (f"fit t.csv --seed {2**40}", "Seed must be between 0 and"),
    ("guarantee t.csv --labels b --target -1", "--target"),
])  # fmt: skip
def test_bad_input_is_not(run, tmp_path, arguments, said):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n2,1\n8,9\n9,8\n")
    ran = run(*arguments.split())
    assert ran.code == 2
    assert said in ran.err
    assert "bug" not in ran.err


def test_what_is_raised_for_bad_input_is_an_input_error():
    """A plain ValueError would be taken for a bug. The parts of a model file are checked by functions named here."""
    internal = {"_verify", "_agree", "_verify_linkage", "check_coordinates"}
    apart = {"kernels", "support", "saving"}  # rules of fields, and of model files, which ``load`` reports
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] in apart:
            continue
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef) and function.name not in internal:
                raised = [node for node in ast.walk(function) if isinstance(node, ast.Raise) and node.exc is not None]
                wrong += [f"{path.name}:{r.lineno}" for r in raised if ast.unparse(r.exc).startswith("ValueError(")]
    assert not wrong


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


#: The title of the window, a colour, the same by a sign of one byte, and signs that go back or delete.
ORDERS = "\x1b]0;title\x07\x1b[31m\x9b31m\x7f\x08\r"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@pytest.fixture
def hostile(tmp_path):
    """A table of Parquet, which has any text, also as the names of columns."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    groups = np.arange(60) % 3
    frame = {
        "id": [f"{ORDERS}{k}" for k in range(60)],
        f"a{ORDERS}": 9 * groups + rng.normal(size=60),
        "level": [f"{'xyz'[k]}{ORDERS}" for k in groups],
    }
    pandas.DataFrame(frame).to_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_visible_signs():
    assert visible("a\tb\nc é") == "a\tb\nc é"
    assert visible("\x1b[31m\x00\x7f\x9b") == "␛[31m␀␡\ufffd"
    assert not any(CONTROLS.search(visible(chr(code))) for code in range(0x300))


@pytest.mark.parametrize("command", ["fit", "impute"])
def test_commands(hostile, run, command):
    ran = run(command, hostile)
    assert ran.code == 0
    assert "a␛]0;title" in ran.out
    assert not CONTROLS.search(ran.out + ran.err)


def test_description_and_json(hostile, run, tmp_path):
    ran = run("fit", hostile, "--json", "--out", "o")
    assert ran.code == 0
    assert not CONTROLS.search(ran.out)
    assert repr(ORDERS.strip())[1:-1] in repr(ran.json)  # JSON has it, escaped
    assert not CONTROLS.search((tmp_path / "o/description.txt").read_text("utf-8"))


def test_errors(hostile, run):
    ran = run("fit", hostile, "--number", "level")
    assert ran.code == 2
    assert not CONTROLS.search(ran.err)


def test_stages_are_shown_on_a_terminal(monkeypatch):
    screen = io.StringIO()
    terminal = console.Terminal(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(console, "Terminal", lambda **options: terminal)
    with console.working(shown=True) as tell:
        tell("reading t.csv")
        tell("fusing [/b]", 3, 4, objective=1.0)  # a name of the user's is no markup
    assert "fusing [/b]" in screen.getvalue()
    assert "0:00:0" in screen.getvalue()
