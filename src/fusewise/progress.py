"""Progress of long computations.

The library calls ``progress(stage, iteration, total, **values)`` at every step; the callback decides what to show.
``silent`` shows nothing, ``Printer`` shows a live line on a terminal and plain lines elsewhere.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Protocol, TextIO

#: Minimum seconds between two updates of one stage: on a terminal, where each replaces the last, and elsewhere.
LIVE_INTERVAL, PLAIN_INTERVAL = 0.1, 5.0

#: Width of the progress bar, in characters.
BAR = 20


class Progress(Protocol):
    """Callback that receives the progress of a computation.

    Parameters
    ----------
    stage : short name of the current stage.
    iteration : number of steps done in this stage; 0 if the stage has no steps.
    total : maximum number of steps; None if unknown.
    values : numbers to display, such as ``objective`` and ``clusters``.
    """

    def __call__(self, stage: str, iteration: int = 0, total: int | None = None, **values: float) -> None:
        """Receive one step."""
        ...


def silent(stage: str, iteration: int = 0, total: int | None = None, **values: float) -> None:
    """Ignore all progress."""


_listener: ContextVar[Progress] = ContextVar("listener", default=silent)


@contextmanager
def listening(progress: Progress) -> Iterator[None]:
    """Send the progress of every fit in this context to `progress` (estimators cannot take a callback parameter)."""
    token = _listener.set(progress)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def shown(verbose: int) -> Iterator[Progress]:
    """The callback an estimator uses: a printer on stderr if it is verbose, else the one set by ``listening``."""
    if not verbose:
        yield _listener.get()
        return
    with Printer() as printer:
        yield printer


class Printer(AbstractContextManager["Printer"]):
    """Print each stage: on a terminal as a live line with a bar and the time left, else as a line every few seconds.

    Use it as a context manager, or call ``close`` to end the last line.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._live = self._stream.isatty()
        self._stage, self._begin, self._shown = "", 0.0, -float("inf")
        self._latest, self._width = "", 0

    def __call__(self, stage: str, iteration: int = 0, total: int | None = None, **values: float) -> None:
        """Show a step, unless another was shown less than an interval ago."""
        now = time.monotonic()
        if stage != self._stage:
            self.close()
            self._stage, self._begin, self._shown = stage, now, -float("inf")
        self._latest = _describe(stage, iteration, total, values, now - self._begin)
        if now - self._shown >= (LIVE_INTERVAL if self._live else PLAIN_INTERVAL) or iteration == total:
            self._show(now)

    def close(self) -> None:
        """Show the last step of the stage if it is still pending, and end the line."""
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

    def __exit__(self, *_: object) -> None:
        self.close()


def _describe(stage: str, iteration: int, total: int | None, values: dict[str, float], seconds: float) -> str:
    """Format one line: stage, bar, iteration, values, and time left (or time taken, if the total is unknown)."""
    parts = [stage]
    if total:
        done = min(BAR, BAR * iteration // total)
        parts.append(f"[{'#' * done}{'.' * (BAR - done)}]")
    if iteration or total is not None:  # else the stage has no steps
        parts.append(str(iteration) if total is None else f"{iteration}/{total}")
    parts += [f"{name} {value:.8g}" for name, value in values.items()]
    if total and 0 < iteration < total:
        parts.append(f"{_clock(seconds * (total - iteration) / iteration)} left")
    else:
        parts.append(_clock(seconds))
    return "  ".join(parts)


def _clock(seconds: float) -> str:
    """Format seconds as 0:07 or 1:02:03."""
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02}:{second:02}" if hour else f"{minute}:{second:02}"
