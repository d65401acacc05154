"""Pictures of a fitted model with matplotlib, in scikit-learn's manner: ``SomeDisplay.from_estimator(model)``."""

from fusewise.views.plots import (
    DendrogramDisplay,
    FusionMapDisplay,
    FusionPathDisplay,
    MissingnessDisplay,
    ProfileDisplay,
)

__all__ = ["DendrogramDisplay", "FusionMapDisplay", "FusionPathDisplay", "MissingnessDisplay", "ProfileDisplay"]
