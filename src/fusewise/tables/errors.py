"""The error for invalid tables, files and options."""


class InputError(ValueError):
    """The user's input is invalid; the message says what is wrong, where (row, column) and what to do."""
