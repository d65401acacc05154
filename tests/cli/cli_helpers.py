"""Clusters to test with, and text tables written and read."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

CENTERS = np.array([[10.0, 200.0, 0.1, -5.0], [30.0, 100.0, 0.5, 5.0], [50.0, 150.0, 0.9, 0.0]])
UNITS = np.array([1.0, 5.0, 0.02, 0.5])
SIZE = 12

#: Settings with which these clusters are found whatever the library chooses by itself.
STEADY = ("--n-clusters", "3")


def write(path: Path, header: Iterable[str], rows: Iterable[Iterable[Any]], separator: str = ",") -> Path:
    """A text table; NaN becomes an empty field."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(header)
        writer.writerows([["" if cell != cell else cell for cell in row] for row in rows])
    return path


def read(path: Path, separator: str = ",") -> dict[str, list[str]]:
    """Columns of a text table."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter=separator)
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
