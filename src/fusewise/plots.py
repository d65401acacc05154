"""Pictures of a fitted model with matplotlib, in scikit-learn's manner: ``SomeDisplay.from_estimator(model)``."""

from fusewise.views import (
    ClusterMapDisplay,
    DendrogramDisplay,
    FusionMapDisplay,
    FusionPathDisplay,
    MissingnessDisplay,
    ProfileDisplay,
)

__all__ = [
    "ClusterMapDisplay",
    "DendrogramDisplay",
    "FusionMapDisplay",
    "FusionPathDisplay",
    "MissingnessDisplay",
    "ProfileDisplay",
]
