"""The size of the house: lines, files and names of the package, and the modules that data passes through.

    python benchmarks/walk.py          # one line for each number
    python benchmarks/walk.py --list   # the modules and the names, too

A module is passed through if one of its functions is called (``sys.setprofile``, in all threads). A function or class
looks public if nothing in its path begins with an underscore, or if the ``__init__`` of a package re-exports it. It is
documented if it is on a page of ``docs/api``.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import fusewise

PACKAGE = Path(fusewise.__file__).parent
API = PACKAGE.parents[1] / "docs" / "api"


def example() -> Any:
    """Two clusters of 100 rows in three columns; a tenth of the entries is missing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) + 6 * (np.arange(200)[:, None] % 2)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    return X


def fit_array() -> None:
    fusewise.FusionClustering().fit(example())


def fit_csv() -> None:
    from fusewise.cli import main

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        table = Path(folder) / "table.csv"
        np.savetxt(table, example(), delimiter=",", header="a,b,c", comments="", fmt="%.3f")
        with contextlib.suppress(SystemExit):
            main(["fit", str(table), "--out", str(Path(folder) / "results")])


def passed_through(run: Callable[[], None]) -> set[str]:
    """The modules of which a function is called while `run` does its work (a second time: nothing is imported)."""
    run()
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    run()
    sys.setprofile(None)
    return {str(Path(file).relative_to(PACKAGE)) for file in files if Path(file).is_relative_to(PACKAGE)}


def public_looking(path: Path) -> Iterator[str]:
    """The names of a module that look public, with its package."""
    inside = path.relative_to(PACKAGE)
    if any(part.startswith("_") and part != "__init__.py" for part in inside.parts):
        return
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.ImportFrom) and inside.name == "__init__.py" and "fusewise" in str(node.module):
            names = [alias.asname or alias.name for alias in node.names]
        else:
            continue
        yield from (f"{'.'.join(inside.parts[:-1])}: {name}" for name in names if not name.startswith("_"))


if __name__ == "__main__":
    modules = sorted(PACKAGE.rglob("*.py"))
    names = sorted({name for path in modules for name in public_looking(path)})
    pages = "".join(page.read_text() for page in API.glob("*.md"))
    documented = set(re.findall(r"^ +(fusewise[\w.]+)", pages, re.M))
    print(f"{sum(len(path.read_text().splitlines()) for path in modules):,} lines in {len(modules)} files")
    print(f"{len(names)} names that look public, {len(documented)} documented: {len(names) / len(documented):.1f} each")
    walks = {"an array": passed_through(fit_array), "a CSV file": passed_through(fit_csv)}
    for what, walked in walks.items():
        print(f"{what} passes through {len(walked)} modules")
    if "--list" in sys.argv[1:]:
        print(*names, *(f"{what}: {module}" for what in walks for module in sorted(walks[what])), sep="\n")
