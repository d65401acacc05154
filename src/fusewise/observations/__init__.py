"""What was measured of each point: entries of a table, or anything that gives quadratics in the centres."""

from fusewise.observations.entries import Entries
from fusewise.observations.reading import as_entries

__all__ = ["Entries", "as_entries"]
