"""Clustering of data with missing entries by non-convex fusion of centres.

>>> from fusewise import FusionClustering
>>> model = FusionClustering().fit(X)      # X: numbers, NaN where missing   # doctest: +SKIP
>>> model.labels_                                                            # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fusewise.estimators import FusionClustering, FusionImputer, load
    from fusewise.fusion import FusionPath, Solution, fuse, fusion_path
    from fusewise.observations import DataWarning

__version__ = "0.1.0"

#: Where each public name lives: it is imported when first used, so that ``import fusewise`` is quick.
_HOMES = {
    "DataWarning": "fusewise.observations",
    "FusionClustering": "fusewise.estimators",
    "FusionImputer": "fusewise.estimators",
    "FusionPath": "fusewise.fusion",
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
    "Solution",
    "__version__",
    "fuse",
    "fusion_path",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
