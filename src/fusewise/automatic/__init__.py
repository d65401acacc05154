"""The default method: a merge tree in a subspace, and the partition that best explains the observed entries."""

from fusewise.automatic.alternatives import Alternative, nearly_as_good
from fusewise.automatic.choice import Choice
from fusewise.automatic.choosing import choose
from fusewise.automatic.hints import NO_HINTS, UNSATISFIED, Hints, place
from fusewise.automatic.labelling import OUTLIER_LEVEL, Classified, Classifier, outlier_confidence
from fusewise.automatic.smooth import Smooth
from fusewise.automatic.stability import (
    MOST_HIDDEN,
    MOST_ROWS,
    Refit,
    Stability,
    hide_more,
    row_draws,
    summarise,
)
from fusewise.automatic.units import LevelBlock

__all__ = [
    "MOST_HIDDEN",
    "MOST_ROWS",
    "NO_HINTS",
    "OUTLIER_LEVEL",
    "UNSATISFIED",
    "Alternative",
    "Choice",
    "Classified",
    "Classifier",
    "Hints",
    "LevelBlock",
    "Refit",
    "Smooth",
    "Stability",
    "choose",
    "hide_more",
    "nearly_as_good",
    "outlier_confidence",
    "place",
    "row_draws",
    "summarise",
]
