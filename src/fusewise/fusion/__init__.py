"""Fusion: IRLS with descent. Weigh the pairs, average over them, return to the data."""

from fusewise.fusion.fuse import Settings, fuse
from fusewise.fusion.loop import Progress
from fusewise.fusion.solution import Solution

__all__ = ["Progress", "Settings", "Solution", "fuse"]
