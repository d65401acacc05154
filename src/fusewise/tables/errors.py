"""The error for invalid tables, files and options."""


class InputError(Exception):
    """The user's input is invalid; the message says what is wrong and where."""
