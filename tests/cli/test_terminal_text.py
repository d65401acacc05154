"""Text of a table cannot give orders to the terminal on which a command shows it."""

import io
import re

import numpy as np
import pytest

from fusewise.cli import _output as console
from fusewise.support import visible

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
