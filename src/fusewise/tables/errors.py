"""The one exception for what is wrong with a user's table, file or option."""


class InputError(ValueError):
    """Something in the user's input is at fault; one line says what, where (row, column) and what to do."""
