"""What is shown while a long computation runs."""

import io

import pytest

from fusewise import progress
from fusewise.progress import Printer, _clock, _describe, silent


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


def test_time_left_is_that_of_the_steps_so_far():
    # 25 of 100 steps in 30 s: the other 75 take 90 s.
    line = _describe("tree", 25, 100, {"objective": -12.5, "clusters": 7}, 30.0)
    assert line == "tree  [#####...............]  25/100  objective -12.5  clusters 7  1:30 left"


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (59.6, "1:00"), (3723, "1:02:03")])
def test_clock(seconds, shown):
    assert _clock(seconds) == shown


def test_a_terminal_has_one_line_for_each_stage(time):
    out = Terminal()
    with Printer(out) as show:
        for i in range(1, 4):
            show("subspace", i, 3, objective=10.0**i)
            time.now += 1
        show("tree", 1)
    lines = out.getvalue().split("\n")
    assert [line.count("\r") for line in lines] == [3, 1, 0]
    assert lines[0].rsplit("\r", 1)[1].startswith("subspace  [####################]  3/3  objective 1000")


def test_elsewhere_a_line_now_and_then(time):
    out = io.StringIO()
    with Printer(out) as show:
        for i in range(1, 21):
            show("path", i)
            time.now += 1
    # 20 seconds, a line every five, and the last.
    assert [line.split()[1] for line in out.getvalue().splitlines()] == ["1", "6", "11", "16", "20"]
    assert "\r" not in out.getvalue()
