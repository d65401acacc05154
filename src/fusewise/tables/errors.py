"""The error for invalid tables, files and options."""

from fusewise.kernels.input_errors import InputError

__all__ = ["InputError"]
