"""Which columns hold the levels of a category."""

from __future__ import annotations

from typing import NamedTuple


class LevelBlock(NamedTuple):
    """The columns from `start` to before `stop` hold the levels of one category, which may be ordered."""

    start: int
    stop: int
    ordered: bool = False


Levels = tuple[LevelBlock, ...]
