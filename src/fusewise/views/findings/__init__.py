"""The result of a fitted model as plain arrays; all views read a model through this package."""

from fusewise.views.findings.branches import Branches, Join, branches_of
from fusewise.views.findings.findings import Findings, read_findings
from fusewise.views.findings.missingness import Missingness, compare_missingness
from fusewise.views.findings.profile import Profile, profile_of
from fusewise.views.findings.trail import Step, Trail

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
