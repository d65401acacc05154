"""Mixtures that describe a partition of the rows, fitted to the observed entries."""
