"""Engine 1, the paper: penalties, fidelities, one loop that never lets the objective rise, and paths along lam."""

from fusewise.fusion.fuse import Settings, fuse
from fusewise.fusion.loop import Progress
from fusewise.fusion.path import FusionPath, fusion_path
from fusewise.fusion.solution import Solution

__all__ = ["FusionPath", "Progress", "Settings", "Solution", "fuse", "fusion_path"]
