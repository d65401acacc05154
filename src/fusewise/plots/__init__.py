"""Pictures of a fitted model with matplotlib, in scikit-learn's manner: ``SomeDisplay.from_estimator(model)``."""

from fusewise.plots.dendrogram import DendrogramDisplay
from fusewise.plots.fusion_map import FusionMapDisplay
from fusewise.plots.fusion_path import FusionPathDisplay
from fusewise.plots.missingness import MissingnessDisplay
from fusewise.plots.profile import ProfileDisplay

__all__ = [
    "DendrogramDisplay",
    "FusionMapDisplay",
    "FusionPathDisplay",
    "MissingnessDisplay",
    "ProfileDisplay",
]
