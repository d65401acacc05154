"""How much the result depends on each constant of the default: mean ARI for other values of it.

    python benchmarks/constants.py [--jobs 2] [--only RANK MUCH] [FOLDER_OR_CSV ...]

Each constant is varied alone, on simulated tables (those of ``quality.py``: the paper's two designs with missing
values, skewed, rounded, unequal, noisy and many groups), on shapes in two columns (complete, and with 20%, 40% and
60% of the entries hidden) and, where given, on your own tables (class in the last column, under 1000 rows; each as it
is, and with a fifth of its entries hidden). The middle value of each row is the one in use.
"""

from __future__ import annotations

import argparse
import importlib
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering
from fusewise.datasets import hide_entries
from quality import SHAPES, _by_factors, _many, _noisy, _paper, _rounded, _skewed, _unequal
from tables import standardised

Table = tuple[np.ndarray, np.ndarray]
#: The modules of ``fusewise.automatic`` in which a constant is used, its name, and the values to try.
CONSTANTS: tuple[tuple[tuple[str, ...], str, tuple[float, ...]], ...] = (
    (("search", "choosing"), "RANK", (4, 5, 6, 7, 8)),
    (("search", "choosing", "many", "rare"), "LARGEST_RANK", (8, 10, 12, 14, 16)),
    (("search", "rare"), "NEIGHBORS", (8, 11, 15, 20, 30)),
    (("sample",), "SMALLEST_SHARE", (0.005, 0.01, 0.015, 0.02, 0.03)),
    (("cuts",), "WITHIN_SHARE", (0.03, 0.05, 0.1, 0.2, 0.3)),
    (("cuts", "search"), "AROUND", (1, 2, 3, 4, 6)),
    (("comparison",), "PATIENCE", (4, 6, 8, 12, 16)),
    (("valleys",), "NO_VALLEY", (0.9, 0.93, 0.95, 0.97, 0.99)),
    (("valleys",), "CONTIGUOUS", (0.1, 0.15, 0.2, 0.3, 0.4)),
    (("valleys",), "EQUALLY_DENSE", (1.5, 2.0, 3.0, 4.0, 6.0)),
    (("valleys",), "ALIGNED", (2.0, 2.5, 3.0, 3.5, 4.0)),
    (("valleys",), "TOLERATED", (0.25, 0.5, 1.0, 2.0, 4.0)),
    (("clusters", "comparison", "many"), "SOFT_ROUNDS", (1, 2, 4, 8, 16)),
    (("valleys",), "CHANCE", (0.01, 0.02, 0.05, 0.1, 0.2)),
    (("valleys",), "ENOUGH_KNOWN", (0.1, 0.15, 0.25, 0.35, 0.5)),
    (("gaps",), "CHANCE", (0.01, 0.02, 0.05, 0.1, 0.2)),
    (("copies",), "ROUNDED", (0.03, 0.05, 0.1, 0.2, 0.3)),
    (("copies",), "FEW_VALUES", (10, 15, 20, 30, 40)),
    (("copies",), "MANY_EQUAL", (2.0, 2.5, 3.0, 4.0, 6.0)),
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


def own(paths: list[Path]) -> Iterator[Table]:
    """Tables in some files, as they are and with a fifth of their entries hidden."""
    for _, X, y in standardised(paths):
        yield X, y
        yield hide_entries(X, 0.2, random_state=0), y


KINDS = {"simulated": simulated, "shapes": shapes}


def mean_ari(modules: tuple[str, ...], name: str, value: float, kind: str, paths: list[Path]) -> float:
    """Mean ARI of the default over one kind of tables, or your own, with another constant."""
    warnings.simplefilter("ignore")
    for module in modules:
        patch.object(importlib.import_module(f"fusewise.automatic.{module}"), name, value).start()
    scores = [
        adjusted_rand_score(y, FusionClustering(random_state=0).fit_predict(X))
        for X, y in (own(paths) if kind == "own tables" else KINDS[kind]())
    ]
    patch.stopall()
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
            [[pool.submit(mean_ari, modules, name, value, kind, args.paths) for value in values] for kind in kinds]
            for modules, name, values in wanted
        ]
        heads = ["constant", "values", *kinds]
        print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
        for (_, name, values), columns in zip(wanted, found, strict=True):
            curves = [" / ".join(f"{each.result():.3f}" for each in column) for column in columns]
            print(f"| `{name}` | {' / '.join(f'{v:g}' for v in values)} | {' | '.join(curves)} |", flush=True)


if __name__ == "__main__":
    main()
