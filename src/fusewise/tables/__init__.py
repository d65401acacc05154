"""A person's table: files read, columns understood, encoded as numbers, and written back."""
