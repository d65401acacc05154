"""Presentation of results: findings, wording, plots and the report."""
