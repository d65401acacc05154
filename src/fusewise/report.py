"""What a model found: the report as an HTML file, and what ``describe``, ``stability`` and ``alternatives`` return."""

from fusewise.automatic.alternatives import Alternative
from fusewise.automatic.stability import Stability
from fusewise.views.certainty import ClusterConfidence, DoubtfulRow, HowSure
from fusewise.views.contrasts import ColumnImportance, Contrast, Contrasts
from fusewise.views.description import Description
from fusewise.views.effects import Effect
from fusewise.views.known_labels import KnownLabels
from fusewise.views.report import write_report
from fusewise.views.rules import ClusterRule, Condition
from fusewise.views.sentences import ClusterDescription

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
