"""The first fit in a new environment, imports included: nothing compiled and kept yet, a second run, and the peer.

    python benchmarks/cold_start.py                # Wine, 30% hidden: the median of 5 rounds
    python benchmarks/cold_start.py --rows 1000    # so many simulated rows x 10 instead

Each run is a process of its own. A round runs all of them in turn, and ratios are to the peer in the same round, so
that a busy machine slows all of them alike. The processor's seconds (user and system) count every thread.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

TABLES = {
    "wine": "from sklearn.datasets import load_wine; X = load_wine().data.copy(); hidden = 0.3",
    "rows": "X = rng.normal(size=({rows}, 10)) + 3 * rng.integers(5, size=({rows}, 1)); hidden = 0.3",
}
DRAW = """
import numpy as np
rng = np.random.default_rng(0)
{table}
X[rng.random(X.shape) < hidden] = np.nan
"""
OURS = "from fusewise import FusionClustering; FusionClustering().fit(X)"
PEER = """
from sklearn.cluster import KMeans
from sklearn.impute import KNNImputer
KMeans(3, n_init=10, random_state=0).fit(KNNImputer().fit_transform((X - np.nanmean(X, 0)) / np.nanstd(X, 0)))
"""


def run(script: str, cache: str) -> tuple[float, float]:
    """Seconds by the clock, and the processor's."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", script], env=os.environ | {"NUMBA_CACHE_DIR": cache}, check=True)
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description="The first fit in a new environment.")
    parser.add_argument("--rows", type=int, help="rows of a simulated table (default: Wine, 178 x 13)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is run (default 5)")
    options = parser.parse_args()
    draw = DRAW.format(table=TABLES["rows" if options.rows else "wine"].format(rows=options.rows))
    names = ("Fusewise, nothing kept", "Fusewise, second run", "KNNImputer + KMeans (K)")
    found = []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as cache:
            found.append([run(draw + work, cache) for work in (OURS, OURS, PEER)])
            kept = sum(1 for path in Path(cache).rglob("*.nbi"))
    times = np.array(found)
    ratios = times / times[:, 2:]
    print(f"{f'{options.rows} x 10' if options.rows else 'Wine, 178 x 13'}, 30% hidden; {kept} loops compiled")
    print("| run | seconds | CPU seconds | seconds, ratio | CPU seconds, ratio |\n|---|---|---|---|---|")
    for k, name in enumerate(names):
        clock, cpu = np.median(times[:, k], axis=0)
        shares = " | ".join(f"{ratio:.1f}" for ratio in np.median(ratios[:, k], axis=0))
        print(f"| {name} | {clock:.1f} | {cpu:.1f} | {shares} |")


if __name__ == "__main__":
    main()
