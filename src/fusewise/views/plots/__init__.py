"""Matplotlib displays of a fitted model, as in scikit-learn: ``SomeDisplay.from_estimator(model)``."""

from fusewise.views.plots.cluster_map_display import ClusterMapDisplay
from fusewise.views.plots.dendrogram_display import DendrogramDisplay
from fusewise.views.plots.map_display import FusionMapDisplay
from fusewise.views.plots.missingness_display import MissingnessDisplay
from fusewise.views.plots.path_display import FusionPathDisplay
from fusewise.views.plots.profile_display import ProfileDisplay

__all__ = [
    "ClusterMapDisplay",
    "DendrogramDisplay",
    "FusionMapDisplay",
    "FusionPathDisplay",
    "MissingnessDisplay",
    "ProfileDisplay",
]
