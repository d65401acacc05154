"""What a model found: the report as an HTML file, and what ``describe``, ``stability`` and ``alternatives`` return."""

from fusewise.automatic import Alternative, Stability
from fusewise.views import (
    ClusterConfidence,
    ClusterDescription,
    ClusterRule,
    ColumnImportance,
    Condition,
    Contrast,
    Contrasts,
    Description,
    DoubtfulRow,
    Effect,
    HowSure,
    KnownLabels,
    write_report,
)

__all__ = [
    "Alternative",
    "ClusterConfidence",
    "ClusterDescription",
    "ClusterRule",
    "ColumnImportance",
    "Condition",
    "Contrast",
    "Contrasts",
    "Description",
    "DoubtfulRow",
    "Effect",
    "HowSure",
    "KnownLabels",
    "Stability",
    "write_report",
]
