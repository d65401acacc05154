"""What is shown while a long computation runs."""

import io

import pytest

from fusewise import progress
from fusewise.progress import Printer, silent


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def time(monkeypatch):
    """A clock that stands still until it is moved."""

    class Clock:
        now = 100.0

    monkeypatch.setattr(progress.time, "monotonic", lambda: Clock.now)
    return Clock


def test_silence():
    assert silent("subspace", 3, 10, objective=1.0) is None


def test_a_terminal_has_one_line_for_each_stage(time):
    out = Terminal()
    with Printer(out) as show:
        for i in range(1, 4):
            show("subspace", i, 3, objective=10.0**i)
            time.now += 45 * i  # 90 s for the second step: the time left is that of the steps so far
        show("tree", 1)
    lines = out.getvalue().split("\n")
    assert [line.count("\r") for line in lines] == [3, 1, 0]
    _, _, second, last = lines[0].split("\r")
    assert second.strip() == "subspace  [#############.......]  2/3  objective 100  0:22 left"
    assert last.strip() == "subspace  [####################]  3/3  objective 1000  2:15"


def test_elsewhere_a_line_now_and_then(time):
    out = io.StringIO()
    with Printer(out) as show:
        for i in range(1, 21):
            show("path", i)
            time.now += 1
    # 20 seconds, a line every five, and the last.
    assert [line.split()[1] for line in out.getvalue().splitlines()] == ["1", "6", "11", "16", "20"]
    assert "\r" not in out.getvalue()
