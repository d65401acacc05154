"""The error for invalid tables, files and options."""

from fusewise.support.records import InputError

__all__ = ["InputError"]
