"""The scikit-learn estimators: ``FusionClustering``, ``FusionImputer`` and ``PenalizedFusion``."""

from fusewise.estimators._clustering import FusionClustering
from fusewise.estimators._imputer import FusionImputer
from fusewise.estimators._penalized import PenalizedFusion
from fusewise.saving import load

__all__ = ["FusionClustering", "FusionImputer", "PenalizedFusion", "load"]
