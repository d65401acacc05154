"""What is wrong with a user's table, file or option, in one line."""


class InputError(Exception):
    """Something in the user's input is at fault; the message says what and where."""
