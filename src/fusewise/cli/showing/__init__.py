"""Results as text and pictures in a terminal."""
