"""The default method: a merge tree in a subspace, and the partition that best explains the observed entries."""

from fusewise.automatic.choice import Choice, choose
from fusewise.automatic.classifying import Classifier
from fusewise.automatic.columnwise import LevelBlock
from fusewise.automatic.hints import NO_HINTS, Hints
from fusewise.automatic.labelling import Classified
from fusewise.automatic.smooth import Smooth

__all__ = ["NO_HINTS", "Choice", "Classified", "Classifier", "Hints", "LevelBlock", "Smooth", "choose"]
