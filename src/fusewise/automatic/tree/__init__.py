"""The merge tree of l0 fusion along a graph."""
