"""The scikit-learn estimators ``FusionClustering`` and ``FusionImputer``."""

from fusewise.estimators.clustering import FusionClustering
from fusewise.estimators.imputer import FusionImputer
from fusewise.saving import load

__all__ = ["FusionClustering", "FusionImputer", "load"]
