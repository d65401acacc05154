"""What each rule of the default is worth: mean ARI with it minus mean ARI without it, and its cost.

    python benchmarks/ablation.py FOLDER_OR_CSV ... [--jobs 2] [--rules powers,valleys] [--told-k] [--json out.json]
    python benchmarks/ablation.py --constants [FOLDER_OR_CSV ...]   # five values of each constant instead

Every table is fitted once as it is and once without each rule; all else stays the same, so differences are paired. A
column is a collection: the tables of one folder, or one family of simulated tables if no table is given. CPU is the
processor time with the rule over that without it, over all tables. A rule helps in a collection if the mean ARI there
is larger by more than 0.002. Rules that need more than 5000 rows (rare) or equal rows (copies) change nothing in the
simulated families, and k-means only proposes where the number is given (``--told-k``).

Tables have the class in the last column; other columns are numbers or text, and empty cells are missing. A folder may
have a ``types.json``, {name: {"columns": ["number" | "category" | "ordered", ...]}}, for its tables.
"""

from __future__ import annotations

import argparse
import ast
import json
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

import fusewise
from fusewise import FusionClustering
from fusewise.automatic import _search as search
from fusewise.automatic._clusters import AxisMixture
from mixed_tables import with_sexes
from quality import WITHOUT_CLUSTERS, _among_noise, _groups, _paper, _shape
from tables import read_frame


def without(proposal: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """The other proposals."""
    return tuple(each for each in search.PROPOSALS if each is not proposal)


#: Rule -> what takes the place of a name, by where ``fusewise.automatic`` looks it up.
RULES: dict[str, dict[str, Any]] = {
    "powers": {"_choosing._powers_in_question": lambda *_: None},
    **{each.__name__.replace("_", " "): {"_search.PROPOSALS": without(each)} for each in search.PROPOSALS},
    "numbers lead": {"_search.TreeSearch.among_numbers": lambda _: None},
    "gaps": {"_choosing.across_gaps": lambda _, found: found, "_choosing.parts_of": lambda *_: None},
    "valleys": {"_choosing.without_valley": lambda *_, **__: []},
    "rare": {"_sample.SampledSearch.with_rare": lambda _, clusters, n_sampled, **__: (clusters, ())},
    "copies": {"_sample.shares_of_copies": lambda table: None},
    "labels by independent columns": {
        "_choosing.better_explained": lambda _, __, subspace, mixture, *___: AxisMixture(subspace, mixture)
    },
}

#: Constant -> the module of ``fusewise.automatic`` that defines it, and values to try; the middle one is in use. The
#: degrees of freedom (``TAIL``) are compiled into loops, where they cannot be changed.
CONSTANTS: dict[str, tuple[str, tuple[float, ...]]] = {
    "RANK": ("_search", (4, 5, 6, 7, 8)),
    "LARGEST_RANK": ("_search", (8, 10, 12, 14, 16)),
    "NEIGHBORS": ("_cuts", (8, 11, 15, 20, 30)),
    "SMALLEST_SHARE": ("_rows", (0.005, 0.01, 0.015, 0.02, 0.03)),
    "WITHIN_SHARE": ("_cuts", (0.03, 0.05, 0.1, 0.2, 0.3)),
    "PATIENCE": ("_search", (4, 6, 8, 12, 16)),
    "NO_VALLEY": ("_valleys", (0.9, 0.93, 0.95, 0.97, 0.99)),
    "TOUCHING": ("_valleys", (0.1, 0.15, 0.2, 0.3, 0.4)),
    "EQUALLY_DENSE": ("_valleys", (1.5, 2.0, 3.0, 4.0, 6.0)),
    "SOFT_ROUNDS": ("_clusters", (1, 2, 4, 8, 16)),
    "ENOUGH_GAINED": ("_classes", (0.6, 0.7, 0.8, 0.9, 1.0)),
    "ROWS": ("_classes", (1000, 2000, 3000, 5000, 10000)),
}

SKEWED = [WITHOUT_CLUSTERS[name][0] for name in ("exponential", "lognormal", "lognormal, related by a factor")]
#: Families of simulated tables, by seed, and how many tables each has.
FAMILIES: dict[str, Callable[[int], tuple[Any, np.ndarray]]] = {
    "skewed, no clusters": lambda seed: (SKEWED[seed % 3](np.random.default_rng(seed), 500, 6), np.zeros(500, int)),
    "noisy columns": lambda seed: _among_noise((50, 200)[seed % 2], 6.0, (0.0, 0.2)[seed // 2 % 2], seed),
    "rings": lambda seed: _shape(("rings", "crescents")[seed % 2], (0.0, 0.2)[seed // 2 % 2], seed),
    "paper": lambda seed: _paper(*((1.0, 0.8), (1.0, 0.3), (0.5, 0.8), (0.5, 0.5))[seed % 4], seed),
    "many": lambda seed: _groups(40, (0.0, 0.2)[seed % 2], seed),
}
N_SIMULATED = 8
#: A rule helps if the mean ARI is larger by more than that.
HELPS = 0.002
AS_IT_IS = "as it is"


@cache
def imports() -> list[tuple[str, str]]:
    """Importer's name and origin of all ``from module import name`` at the top of a module of fusewise."""
    found, root = [], Path(fusewise.__path__[0])
    for file in root.rglob("*.py"):
        importer = ".".join(file.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                names = [(each.asname or each.name, each.name) for each in node.names]
                found += [(f"{importer}.{own}", f"{node.module}.{name}") for own, name in names]
    return found


def holders(constant: str) -> list[str]:
    """Where a constant is held: an import copies its value. Other modules may have an equal one of their own."""
    found = [f"fusewise.automatic.{CONSTANTS[constant][0]}.{constant}"]
    for place in found:  # it grows
        found += [importer for importer, origin in imports() if origin == place]
    return found


@contextmanager
def changed(change: str) -> Iterator[None]:
    """Leave a rule out ("powers"), or give a constant another value wherever it is held ("RANK=4")."""
    name, _, value = change.partition("=")
    if value:
        patches = dict.fromkeys(holders(name), json.loads(value))
    else:
        rule = {} if change == AS_IT_IS else RULES[name]
        patches = {f"fusewise.automatic.{target}": instead for target, instead in rule.items()}
    with ExitStack() as stack:
        for target, instead in patches.items():
            stack.enter_context(patch(target, instead))
        yield


def fitted(collection: str, table: Path | int, change: str, told: bool) -> dict[str, Any]:
    """ARI and processor seconds of one fit, NaN if it fails."""
    X, y = FAMILIES[collection](table) if isinstance(table, int) else read_frame(table)
    model = FusionClustering(n_clusters=len(np.unique(y)) if told else None, random_state=0)
    ari = cpu = np.nan
    start = time.process_time()
    try:
        with changed(change):
            labels = model.fit_predict(X)
        ari, cpu = adjusted_rand_score(y, labels), time.process_time() - start
    except Exception as error:  # one table of many
        print(f"{table}, {change}: {error!r}", file=sys.stderr)
    return {"collection": collection, "table": str(table), "change": change, "ari": ari, "cpu": cpu}


def warm_up() -> None:
    """Compile loops in a new process, before any clock starts."""
    warnings.simplefilter("ignore")
    for X in (_paper(1.0, 0.8, 0)[0], with_sexes(500, 1.0, 0)[0]):
        FusionClustering(random_state=0).fit(X)


def measured(paths: list[Path], changes: list[str], told: bool, jobs: int) -> pd.DataFrame:
    """All fits: every table as it is and with each change."""
    files = {file: None for path in paths for file in (sorted(path.glob("*.csv")) if path.is_dir() else [path])}
    tables: list[tuple[str, Path | int]] = [(file.resolve().parent.name, file) for file in files]
    if not paths:
        tables = [(family, seed) for family in FAMILIES for seed in range(N_SIMULATED)]
    if not tables:
        raise SystemExit("no tables (*.csv) there")
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=spawn, initializer=warm_up) as pool:
        fits = [pool.submit(fitted, *table, change, told) for table in tables for change in (AS_IT_IS, *changes)]
        return pd.DataFrame([fit.result() for fit in fits])


def of_rules(ari: pd.DataFrame, cpu: pd.DataFrame, names: list[str]) -> Iterator[list[str]]:
    """A row for each rule; a table where a fit failed is left out."""
    means = ari[AS_IT_IS].groupby("collection").mean()
    yield ["rule", *means.index, "CPU", "helps in"]
    yield ["(mean ARI as it is)", *(f"{mean:.3f}" for mean in means), f"{cpu[AS_IT_IS].sum():.0f} s", ""]
    for name in names:
        gains, both = (ari[AS_IT_IS] - ari[name]).groupby("collection").mean(), cpu[[AS_IT_IS, name]].dropna().sum()
        helps = f"{(gains > HELPS).sum()} of {len(gains)}"
        yield [name, *(f"{gain:+.3f}" for gain in gains), f"{both[AS_IT_IS] / both[name]:.2f}", helps]


def of_constants(ari: pd.DataFrame, names: list[str]) -> Iterator[list[str]]:
    """Mean ARI by collection with each value of each constant; a table where a fit failed is left out."""
    means = ari.dropna().groupby("collection").mean()
    yield ["constant", "values", *means.index]
    for name in names:
        values = CONSTANTS[name][1]
        curves = means[[AS_IT_IS if value == values[2] else f"{name}={value}" for value in values]]
        rows = (" / ".join(f"{mean:.3f}" for mean in curve) for curve in curves.to_numpy())
        yield [f"`{name}`", " / ".join(f"{value:g}" for value in values), *rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path, help="default: simulated tables")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rules", help="some of the rules (or constants), separated by commas")
    parser.add_argument("--constants", action="store_true", help="vary constants instead")
    parser.add_argument("--told-k", action="store_true", help="give the number of classes")
    parser.add_argument("--json", type=Path, help="file for the ARI and processor seconds of every fit")
    args = parser.parse_args()
    known = list(CONSTANTS if args.constants else RULES)
    names = args.rules.split(",") if args.rules else known
    if not set(names) <= set(known):
        parser.error(f"--rules: some of {','.join(known)}")
    for threads in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):  # threads that wait use processor time
        os.environ.setdefault(threads, "1")
    values = [f"{name}={value}" for name in names if args.constants for value in np.delete(CONSTANTS[name][1], 2)]
    fits = measured(args.paths, values or names, args.told_k, args.jobs)
    if args.json:
        fits.to_json(args.json, orient="records", indent=1)
    ari, cpu = (fits.pivot(index=["collection", "table"], columns="change", values=value) for value in ("ari", "cpu"))
    for at, row in enumerate(of_constants(ari, names) if args.constants else of_rules(ari, cpu, names)):
        print(f"| {' | '.join(row)} |" + ("" if at else "\n|" + "---|" * len(row)))


if __name__ == "__main__":
    main()
