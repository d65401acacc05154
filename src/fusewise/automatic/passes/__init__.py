"""Passes over all rows of a table, here or on a GPU: labels, outliers, and the rows that no cluster explains."""
