"""What was measured of each point: entries of a table, or anything that gives quadratics in the centres."""

from fusewise.observations.blanks import DataWarning, warn_of_blanks
from fusewise.observations.entries import Entries
from fusewise.observations.model import Observations
from fusewise.observations.quadratics import Quadratics
from fusewise.observations.reading import as_entries, is_complex

__all__ = ["DataWarning", "Entries", "Observations", "Quadratics", "as_entries", "is_complex", "warn_of_blanks"]
