"""The paper's method: penalties, fidelities, one loop that never raises the objective, and paths along lam."""

from fusewise.fusion._fuse import Settings, fuse, lam_without_effect
from fusewise.fusion._loop import Status
from fusewise.fusion._path import FusionPath, choose_sigma, cut_to, fusion_path, lam_schedule, longest_plateau
from fusewise.fusion._setup import check_pairs_fit, noise_level, pose
from fusewise.fusion._solution import Solution

__all__ = [
    "FusionPath",
    "Settings",
    "Solution",
    "Status",
    "check_pairs_fit",
    "choose_sigma",
    "cut_to",
    "fuse",
    "fusion_path",
    "lam_schedule",
    "lam_without_effect",
    "longest_plateau",
    "noise_level",
    "pose",
]
