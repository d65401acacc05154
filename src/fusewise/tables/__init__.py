"""Tables: reading files, detecting the kind of each column, and encoding columns as numbers and back."""
