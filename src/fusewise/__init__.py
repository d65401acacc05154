"""Clustering of data with missing values by non-convex fusion of centres.

>>> from fusewise import FusionClustering
>>> model = FusionClustering().fit(X)      # X: numbers, NaN where missing   # doctest: +SKIP
>>> model.labels_                                                            # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fusewise.estimators import FusionClustering, FusionImputer, PenalizedFusion, load
    from fusewise.fusion import FusionPath, Solution, fuse, fusion_path
    from fusewise.observations import DataWarning

__version__ = "0.1.0"

#: Module of each public name. Names are imported on first use, which keeps ``import fusewise`` fast.
_MODULES = {
    "DataWarning": "fusewise.observations",
    "FusionClustering": "fusewise.estimators",
    "FusionImputer": "fusewise.estimators",
    "FusionPath": "fusewise.fusion",
    "PenalizedFusion": "fusewise.estimators",
    "Solution": "fusewise.fusion",
    "fuse": "fusewise.fusion",
    "fusion_path": "fusewise.fusion",
    "load": "fusewise.estimators",
}

__all__ = [
    "DataWarning",
    "FusionClustering",
    "FusionImputer",
    "FusionPath",
    "PenalizedFusion",
    "Solution",
    "__version__",
    "fuse",
    "fusion_path",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
