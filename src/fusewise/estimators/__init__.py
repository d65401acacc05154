"""The scikit-learn estimators: ``FusionClustering``, ``FusionImputer`` and ``PenalizedFusion``."""

from fusewise.estimators._clustering import FusionClustering
from fusewise.estimators._comparison import ClusterComparison
from fusewise.estimators._explanation import Explanation
from fusewise.estimators._imputer import FusionImputer
from fusewise.estimators._penalized import PenalizedFusion
from fusewise.estimators._result import Matching
from fusewise.estimators._stability import Alternatives
from fusewise.saving import load

__all__ = [
    "Alternatives",
    "ClusterComparison",
    "Explanation",
    "FusionClustering",
    "FusionImputer",
    "Matching",
    "PenalizedFusion",
    "load",
]
