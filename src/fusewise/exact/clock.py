"""Time left."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Clock:
    """Started when made; `limit` seconds, infinite by default."""

    limit: float = math.inf
    start: float = field(default_factory=time.perf_counter)

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.start

    def left(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.limit - self.elapsed())

    def expired(self) -> bool:
        """True when no time is left."""
        return self.elapsed() >= self.limit
