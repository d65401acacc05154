"""What a fitted model found, as plain arrays: the one place where views read a model."""

from fusewise.plots.findings.missingness import Missingness, compare_missingness
from fusewise.plots.findings.profile import Profile, profile_of
from fusewise.plots.findings.read import Findings, read_findings
from fusewise.plots.findings.trail import Step, Trail
from fusewise.plots.findings.tree import Branches, Join, branches_of

__all__ = [
    "Branches",
    "Findings",
    "Join",
    "Missingness",
    "Profile",
    "Step",
    "Trail",
    "branches_of",
    "compare_missingness",
    "profile_of",
    "read_findings",
]
