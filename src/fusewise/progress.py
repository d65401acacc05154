"""What a long computation says while it runs.

The library calls ``progress(stage, iteration, total, **values)`` as often as it likes; whoever listens decides what to
show. ``silent`` shows nothing, ``Printer`` a live line on a terminal and plain lines elsewhere.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TextIO

#: Seconds between two lines about one stage: on a terminal, where they replace each other, and elsewhere.
LIVE, PLAIN = 0.1, 5.0

#: Characters of the bar.
BAR = 20


class Progress(Protocol):
    """Called on the way.

    Parameters
    ----------
    stage : what is being done, in a word or three.
    iteration : how many steps of the stage are done; 0 where it has none.
    total : how many there are, at most; None where nobody knows.
    values : numbers worth seeing, such as ``objective`` and ``clusters``.
    """

    def __call__(self, stage: str, iteration: int = 0, total: int | None = None, **values: float) -> None:
        """Take note of a step."""
        ...


def silent(stage: str, iteration: int = 0, total: int | None = None, **values: float) -> None:
    """Show nothing."""


_listener: ContextVar[Progress] = ContextVar("listener", default=silent)


@contextmanager
def listening(progress: Progress) -> Iterator[None]:
    """Hear of whatever is fitted in this context (an estimator's parameters are no place for a function)."""
    token = _listener.set(progress)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def shown(verbose: int) -> Iterator[Progress]:
    """What an estimator tells: a line on stderr where it is verbose, else whoever is listening."""
    if not verbose:
        yield _listener.get()
        return
    with Printer() as printer:
        yield printer


class Printer:
    """Shows each stage on one line: a live one with a bar and the time left on a terminal, else one every few seconds.

    Use it as a context, or call ``close``: that ends the last line.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._stage, self._begin, self._shown = "", 0.0, -float("inf")
        self._latest, self._width = "", 0

    def __call__(self, stage: str, iteration: int = 0, total: int | None = None, **values: float) -> None:
        """Show a step, unless the last one was shown a moment ago."""
        now = time.monotonic()
        if stage != self._stage:
            self.close()
            self._stage, self._begin, self._shown = stage, now, -float("inf")
        self._latest = describe(stage, iteration, total, values, now - self._begin)
        if now - self._shown >= (LIVE if self._live else PLAIN) or iteration == total:
            self._show(now)

    def close(self) -> None:
        """Show the last step of a stage, if it has not been, and end the line."""
        if self._latest:
            self._show(time.monotonic())
        if self._width:
            self._stream.write("\n")
        self._stage, self._latest, self._width = "", "", 0

    def _show(self, now: float) -> None:
        if self._live:
            self._stream.write("\r" + self._latest.ljust(self._width))
            self._width = len(self._latest)
        else:
            self._stream.write(self._latest + "\n")
        self._stream.flush()
        self._shown, self._latest = now, ""

    def __enter__(self) -> Printer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def describe(stage: str, iteration: int, total: int | None, values: dict[str, float], seconds: float) -> str:
    """One line: stage, bar, iteration, values, and time left (time taken, where the end is not known)."""
    parts = [stage]
    if total:
        done = min(BAR, BAR * iteration // total)
        parts.append(f"[{'#' * done}{'.' * (BAR - done)}]")
    parts.append(str(iteration) if total is None else f"{iteration}/{total}")
    parts += [f"{name} {value:.8g}" for name, value in values.items()]
    if total and 0 < iteration < total:
        parts.append(f"{clock(seconds * (total - iteration) / iteration)} left")
    else:
        parts.append(clock(seconds))
    return "  ".join(parts)


def clock(seconds: float) -> str:
    """Seconds as 0:07 or 1:02:03."""
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02}:{second:02}" if hour else f"{minute}:{second:02}"
