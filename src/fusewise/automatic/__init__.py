"""The default method: a merge tree in a subspace, and the partition that best explains the observed entries."""

from fusewise.automatic.choice import Choice
from fusewise.automatic.choosing import choose
from fusewise.automatic.hints import NO_HINTS, Hints
from fusewise.automatic.labelling import Classified, Classifier
from fusewise.automatic.smooth import Smooth
from fusewise.automatic.units import LevelBlock
from fusewise.automatic.with_hints import better_supported

__all__ = [
    "NO_HINTS",
    "Choice",
    "Classified",
    "Classifier",
    "Hints",
    "LevelBlock",
    "Smooth",
    "better_supported",
    "choose",
]
