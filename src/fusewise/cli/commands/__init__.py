"""The options of each command, and what it does with them, in a few lines."""
