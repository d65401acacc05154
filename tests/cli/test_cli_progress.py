"""The line of progress: stage, bar and time on a terminal, nothing elsewhere."""

from __future__ import annotations

import io

from fusewise.cli import _terminal as console


def test_stages_are_shown_on_a_terminal(monkeypatch):
    screen = io.StringIO()
    terminal = console.Terminal(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(console, "Terminal", lambda **options: terminal)
    with console.working(shown=True) as tell:
        tell("reading t.csv")
        tell("fusing [/b]", 3, 4, objective=1.0)  # a name of the user's is no markup
    assert "fusing [/b]" in screen.getvalue()
    assert "0:00:0" in screen.getvalue()
