"""The result of a fitted model as plain arrays; all views read a model through this package."""

from fusewise.views.findings.branches import Branches, Join, branches_of
from fusewise.views.findings.cluster_rules import ClusterRule, Condition
from fusewise.views.findings.columns_read import ColumnRead, ColumnsRead
from fusewise.views.findings.contrasts import Contrast, Contrasts
from fusewise.views.findings.descriptions import ClusterDescription, describe_clusters
from fusewise.views.findings.effects import Effect
from fusewise.views.findings.findings import Findings, TableOrigin, read_findings
from fusewise.views.findings.known_labels import KnownLabels
from fusewise.views.findings.missingness import Missingness, compare_missingness
from fusewise.views.findings.profile import Profile, profile_of
from fusewise.views.findings.table_columns import TableColumn
from fusewise.views.findings.trail import Step, Trail

__all__ = [
    "Branches",
    "ClusterDescription",
    "ClusterRule",
    "ColumnRead",
    "ColumnsRead",
    "Condition",
    "Contrast",
    "Contrasts",
    "Effect",
    "Findings",
    "Join",
    "KnownLabels",
    "Missingness",
    "Profile",
    "Step",
    "TableColumn",
    "TableOrigin",
    "Trail",
    "branches_of",
    "compare_missingness",
    "describe_clusters",
    "profile_of",
    "read_findings",
]
