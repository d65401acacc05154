"""Numbers and lists in sentences: what every message, terminal line and page is put together from."""

from __future__ import annotations

import math
from collections.abc import Sequence


def counted(n: int, one: str, many: str | None = None) -> str:
    """1 row, 2 rows; 1 entry, 2 entries (`many`, where an s is not enough)."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def some_of(items: Sequence[object], most: int = 8) -> str:
    """a, b, c and 5 more: the first `most` items, and how many there are besides."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(map(str, items[:most])) + more


def readable(value: float) -> str:
    """Three digits, and all of those before the point: 0.0123, 12.3, 1,230; a dash for what is not a number."""
    if not math.isfinite(value):
        return "–"
    return (f"{value:,.0f}" if 100 <= abs(value) < 1e7 else f"{value:.3g}").replace("-", "−")
