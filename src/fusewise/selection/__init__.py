"""Choosing what was left open: along the paper's path by persistence, along the merge tree by likelihood."""

from fusewise.selection.choice import Choice, Classified, choose
from fusewise.selection.plateau import choose_sigma, cut_to, lam_schedule, longest_plateau
from fusewise.selection.smooth import Smooth

__all__ = ["Choice", "Classified", "Smooth", "choose", "choose_sigma", "cut_to", "lam_schedule", "longest_plateau"]
