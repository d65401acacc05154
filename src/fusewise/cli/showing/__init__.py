"""Results as text and pictures in the terminal."""
