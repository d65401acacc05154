"""The paper's method: penalties, fidelities, one loop that never raises the objective, and paths along lam."""

from fusewise.fusion.fuse import Settings, fuse
from fusewise.fusion.loop import Status
from fusewise.fusion.path import FusionPath, fusion_path
from fusewise.fusion.solution import Solution
from fusewise.progress import Progress

__all__ = ["FusionPath", "Progress", "Settings", "Solution", "Status", "fuse", "fusion_path"]
