"""The default method: a merge tree in a subspace, and the partition that best explains the observed entries."""

from fusewise.automatic._alternatives import Alternative, Cut, Stability, best_cut, nearly_as_good
from fusewise.automatic._choice import OUTLIER_LEVEL, Choice, Classified, Classifier, outlier_confidence
from fusewise.automatic._choosing import choose
from fusewise.automatic._clusters import AxisMixture, Clusters
from fusewise.automatic._columns import ColumnMixture
from fusewise.automatic._evidence import Evidence, LayeredEvidence
from fusewise.automatic._hints import NO_HINTS, UNSATISFIED, Hints, place
from fusewise.automatic._mixture import Mixture
from fusewise.automatic._tree import MergeTree, join_heights
from fusewise.automatic._units import LevelBlock, Powers, Units

__all__ = [
    "NO_HINTS",
    "OUTLIER_LEVEL",
    "UNSATISFIED",
    "Alternative",
    "AxisMixture",
    "Choice",
    "Classified",
    "Classifier",
    "Clusters",
    "ColumnMixture",
    "Cut",
    "Evidence",
    "Hints",
    "LayeredEvidence",
    "LevelBlock",
    "MergeTree",
    "Mixture",
    "Powers",
    "Stability",
    "Units",
    "best_cut",
    "choose",
    "join_heights",
    "nearly_as_good",
    "outlier_confidence",
    "place",
]
