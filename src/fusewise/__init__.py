"""Clustering of data with missing entries by non-convex fusion of centres."""

__version__ = "0.1.0.dev0"
