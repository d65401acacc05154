"""Clustering of data with missing entries by non-convex fusion of centres.

>>> from fusewise import FusionClustering
>>> model = FusionClustering().fit(X)      # X: numbers, NaN where missing   # doctest: +SKIP
>>> model.labels_                                                            # doctest: +SKIP
"""

from fusewise.estimators import FusionClustering, FusionImputer
from fusewise.fusion import Solution, fuse
from fusewise.observations import DataWarning
from fusewise.path import FusionPath, fusion_path

__version__ = "0.1.0.dev0"

__all__ = [
    "DataWarning",
    "FusionClustering",
    "FusionImputer",
    "FusionPath",
    "Solution",
    "__version__",
    "fuse",
    "fusion_path",
]
