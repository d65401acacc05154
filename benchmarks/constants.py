"""How much the result depends on each constant of the default: mean ARI for other values of it.

    python benchmarks/constants.py [--jobs 2] [--only RANK MUCH] [FOLDER_OR_CSV ...]

Each constant is varied alone, on simulated tables (those of ``quality.py``: the paper's two designs with missing
values, skewed, rounded, unequal, noisy and many groups), on shapes in two columns (complete, and with 20%, 40% and
60% of the entries hidden), on numbers that differ between two sexes (those of ``mixed_tables.py effects``; only these
depend on the last constants) and, where given, on your own tables (class in the last column, under 1000 rows; each as
it is, and with a fifth of its entries hidden). The middle value of each row is the one in use.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import pkgutil
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

import fusewise
from fusewise import FusionClustering
from fusewise.datasets import hide_entries
from mixed_tables import with_sexes
from quality import SHAPES, _by_factors, _many, _noisy, _paper, _rounded, _skewed, _unequal
from tables import standardised

Table = tuple[np.ndarray, np.ndarray]
#: The module of ``fusewise.automatic`` that defines a constant, its name, and the values to try.
CONSTANTS: tuple[tuple[str, str, tuple[float, ...]], ...] = (
    ("search.searching", "RANK", (4, 5, 6, 7, 8)),
    ("search.searching", "LARGEST_RANK", (8, 10, 12, 14, 16)),
    ("search.searching", "NEIGHBORS", (8, 11, 15, 20, 30)),
    ("search.sampled", "SMALLEST_SHARE", (0.005, 0.01, 0.015, 0.02, 0.03)),
    ("search.candidates", "WITHIN_SHARE", (0.03, 0.05, 0.1, 0.2, 0.3)),
    ("search.candidates", "AROUND", (1, 2, 3, 4, 6)),
    ("judging.comparing", "PATIENCE", (4, 6, 8, 12, 16)),
    ("search.among_centres", "MUCH", (0.1, 0.15, 0.2, 0.25, 0.3)),
    ("judging.valleys", "NO_VALLEY", (0.9, 0.93, 0.95, 0.97, 0.99)),
    ("judging.valleys", "CONTIGUOUS", (0.1, 0.15, 0.2, 0.3, 0.4)),
    ("judging.valleys", "EQUALLY_DENSE", (1.5, 2.0, 3.0, 4.0, 6.0)),
    ("judging.between", "ALIGNED", (2.0, 2.5, 3.0, 3.5, 4.0)),
    ("judging.between", "TOLERATED", (0.25, 0.5, 1.0, 2.0, 4.0)),
    ("models.clusters", "SOFT_ROUNDS", (1, 2, 4, 8, 16)),
    ("judging.together", "CHANCE", (0.01, 0.02, 0.05, 0.1, 0.2)),
    ("judging.together", "ENOUGH_KNOWN", (0.1, 0.15, 0.25, 0.35, 0.5)),
    ("coordinates.gaps", "CHANCE", (0.01, 0.02, 0.05, 0.1, 0.2)),
    ("search.sampled", "ENOUGH_COMPLETE", (10, 25, 50, 100, 200)),
    ("search.sampled", "SHARE_COMPLETE", (0.05, 0.1, 0.2, 0.3, 0.5)),
    ("search.distinct_axes", "MARGIN", (1.0, 1.15, 1.3, 1.5, 2.0)),
    ("search.skewed_columns", "ENOUGH", (0.3, 0.4, 0.5, 0.6, 0.8)),
    ("search.skewed_columns", "TABLES", (1, 2, 3, 4, 5)),
    ("search.skewed_columns", "WEAK", (10.0, 20.0, 30.0, 40.0, 60.0)),
    ("search.skewed_columns", "SMALL", (30.0, 50.0, 100.0, 200.0, 400.0)),
    ("search.skewed_columns", "MORE_TABLES", (3, 5, 10, 15, 20)),
    ("coordinates.rounding", "ROUNDED", (0.03, 0.05, 0.1, 0.2, 0.3)),
    ("coordinates.rounding", "FEW_VALUES", (10, 15, 20, 30, 40)),
    ("coordinates.rounding", "MANY_EQUAL", (2.0, 2.5, 3.0, 4.0, 6.0)),
    ("models.category_shifts", "LEVEL_ENTRIES", (0.0, 0.5, 1.0, 2.0, 4.0)),
    ("models.category_shifts", "PRESENT", (0.01, 0.02, 0.05, 0.1, 0.2)),
    ("models.category_shifts", "FEWEST", (1, 2, 3, 5, 8)),
    ("search.related_numbers", "TURNS", (1, 2, 3, 4, 5)),
)


def simulated() -> Iterator[Table]:
    """Tables of ``quality.py``, three of each kind."""
    for seed in range(3):
        yield from (_paper(1.0, p0, seed) for p0 in (0.8, 0.3))
        yield from (_paper(0.5, p0, seed) for p0 in (0.8, 0.5))
        yield from (make(seed) for make in (_skewed, _by_factors, _rounded, _unequal, _noisy, _many))


def shapes() -> Iterator[Table]:
    """The shapes of ``quality.py toys``, 500 rows in two columns, three of each with some entries hidden."""
    for seed in range(3):
        for draw in SHAPES.values():
            X, y = draw(seed, 500)
            for hidden in (0.0, 0.2, 0.4, 0.6):
                yield (hide_entries(X, hidden, random_state=seed) if hidden else X), y


def with_effects() -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
    """Tables of ``mixed_tables.py effects``, six of each strength."""
    for seed in range(6):
        yield from (with_sexes(400, effect, seed) for effect in (0.0, 1.0, 2.0, 3.0))


def own(paths: list[Path]) -> Iterator[Table]:
    """Tables in some files, as they are and with a fifth of their entries hidden."""
    for _, X, y in standardised(paths):
        yield X, y
        yield hide_entries(X, 0.2, random_state=0), y


KINDS = {"simulated": simulated, "shapes": shapes, "two sexes": with_effects}


@cache
def imports() -> list[tuple[str, str, str, str]]:
    """All ``from module import name as own`` at the top of a module of fusewise: (importer, own, module, name)."""
    found = []
    for each in pkgutil.walk_packages(fusewise.__path__, "fusewise."):
        spec = importlib.util.find_spec(each.name)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            continue
        for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                found += [(each.name, alias.asname or alias.name, node.module, alias.name) for alias in node.names]
    return found


def holders(module: str, name: str) -> list[tuple[str, str]]:
    """The module that defines a constant and all that import it, from it or from each other, with their name for it.

    An import copies the value, so that a change in the defining module alone would change part of the code only. Equal
    names and values do not show who imports it: other modules have constants of their own with the same ones.
    """
    found = [(module, name)]
    for place in found:  # it grows
        found += [(importer, own) for importer, own, *origin in imports() if tuple(origin) == place]
    return found


@contextmanager
def changed(module: str, name: str, value: float) -> Iterator[None]:
    """Give a constant of a module another value, wherever it is held."""
    with ExitStack() as stack:
        for place, own in holders(module, name):
            stack.enter_context(patch.object(importlib.import_module(place), own, value))
        yield


def mean_ari(module: str, name: str, value: float, kind: str, paths: list[Path]) -> float:
    """Mean ARI of the default over one kind of tables, or your own, with another constant."""
    warnings.simplefilter("ignore")
    with changed(f"fusewise.automatic.{module}", name, value):
        scores = [
            adjusted_rand_score(y, FusionClustering(random_state=0).fit_predict(X))
            for X, y in (own(paths) if kind == "own tables" else KINDS[kind]())
        ]
    return float(np.mean(scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", help="names of constants")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, help="kinds of tables")
    args = parser.parse_args()
    wanted = [each for each in CONSTANTS if not args.only or each[1] in args.only]
    kinds = [*(args.kinds or KINDS), *(["own tables"] if args.paths else [])]
    with ProcessPoolExecutor(args.jobs) as pool:
        found = [
            [[pool.submit(mean_ari, module, name, value, kind, args.paths) for value in values] for kind in kinds]
            for module, name, values in wanted
        ]
        heads = ["constant", "values", *kinds]
        print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
        for (_, name, values), columns in zip(wanted, found, strict=True):
            curves = [" / ".join(f"{each.result():.3f}" for each in column) for column in columns]
            print(f"| `{name}` | {' / '.join(f'{v:g}' for v in values)} | {' | '.join(curves)} |", flush=True)


if __name__ == "__main__":
    main()
