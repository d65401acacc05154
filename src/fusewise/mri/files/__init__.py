"""Scans and images as files."""
