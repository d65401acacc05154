"""The work of each command: from its options to its results and files."""
