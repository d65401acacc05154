"""Clustering of data with missing entries by non-convex fusion of centres.

>>> from fusewise import FusionClustering
>>> model = FusionClustering().fit(X)      # X: numbers, NaN where missing   # doctest: +SKIP
>>> model.labels_                                                            # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fusewise.estimators import FusionClustering, FusionImputer
    from fusewise.fusion import Solution, fuse
    from fusewise.observations import DataWarning
    from fusewise.path import FusionPath, fusion_path
    from fusewise.saving import load

__version__ = "0.1.0"

#: Where each public name lives: it is imported when first used, so that ``import fusewise`` is quick.
_HOMES = {
    "DataWarning": "fusewise.observations",
    "FusionClustering": "fusewise.estimators",
    "FusionImputer": "fusewise.estimators",
    "FusionPath": "fusewise.path",
    "Solution": "fusewise.fusion",
    "fuse": "fusewise.fusion",
    "fusion_path": "fusewise.path",
    "load": "fusewise.saving",
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
