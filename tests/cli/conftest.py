"""A runner for the commands, and small tables with known clusters."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("pandas")

from cli_helpers import CENTERS, SIZE, UNITS, write
from typer.testing import CliRunner

from fusewise.cli._app import app
from fusewise.datasets import hide_entries, make_clusters


class Ran:
    """Exit code and output of a command."""

    def __init__(self, result: Any):
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Run `fusewise ...` in an empty folder; fits without refits for stability, unless a test asks for them."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: object) -> Ran:
        words = [str(argument) for argument in arguments]
        quick = words[:1] == ["fit"] and not {"--stability", "--scheduler", "--help"} & set(words)
        return Ran(CliRunner().invoke(app, [*words, "--no-stability"] if quick else words))

    return invoke


@pytest.fixture
def numbers() -> tuple[np.ndarray, np.ndarray]:
    """Three clear clusters in units of their own, a fifth of the entries hidden; and the classes."""
    X, y, _ = make_clusters(3, SIZE, 4, noise=1.0, centers=CENTERS / UNITS, random_state=0)
    return hide_entries(X * UNITS, 0.2, random_state=1).round(3), y


@pytest.fixture
def table(tmp_path: Path, numbers: tuple[np.ndarray, np.ndarray]) -> Path:
    """The numbers as a CSV."""
    return write(tmp_path / "table.csv", ["a", "b", "c", "d"], numbers[0])


@pytest.fixture
def mixed(tmp_path: Path, numbers: tuple[np.ndarray, np.ndarray]) -> Path:
    """The numbers with row names, classes, categories with missing values, and columns that cannot be used."""
    X, y = numbers
    rows = []
    for i, (values, k) in enumerate(zip(X, y, strict=True)):
        colour = float("nan") if i % 7 == 0 else ("red", "green", "blue")[k]
        wet = "?" if i % 5 == 1 else ("Yes", "no", "no")[k]
        odd = "~1" if i == 3 else f"{i % 4}.5"
        day = f"2020-01-{5 * i % 28 + 1:02d}"  # the same in all classes
        rows.append([f"s{i:02d}", *values, colour, wet, "ABC"[k], day, f"said {i % 30}", "here", "n/a", odd])
    header = ["sample", "a", "b", "c", "d", "colour", "wet", "species", "day", "remark", "place", "blank", "assay"]
    return write(tmp_path / "mixed.csv", header, rows)
