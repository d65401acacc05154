"""Cost of a fusion path along a graph of neighbours, and how it falls as clusters form and merge.

``python benchmarks/fusion_speed.py [--n 5000] [--p 20] [--lams 200]`` prints a table: CPU seconds (for one core set
``OMP_NUM_THREADS=1``) of the whole path and of each quarter of its values of lam (the penalty's strength), with and
without merging, for a tolerance that gives the objective to about six digits (relative gradient 1e-3) and for the
default one (1e-6).
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionPath, fusion_path
from fusewise.fusion import Solution
from fusewise.fusion import _solution as solution
from fusewise.penalties import H1, L1, Penalty

CLUSTERS, NEIGHBORS = 10, 15


def draw(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw ten Gaussian clusters with centres about four standard deviations apart in each feature."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % CLUSTERS
    return 2 * rng.normal(size=(CLUSTERS, p))[y] + 0.5 * rng.normal(size=(n, p)), y


def timed(X: np.ndarray, lams: np.ndarray, penalty: Penalty, tol: float, merge: bool) -> tuple[FusionPath, list[float]]:
    """Return a path, and the CPU time at its start and at the end of each of its points."""
    stamps = [time.process_time()]

    def conclude(*args: Any) -> Solution:
        stamps.append(time.process_time())
        return solution.conclude(*args)

    with patch("fusewise.fusion._fuse.conclude", conclude):
        path = fusion_path(X, lams=lams, penalty=penalty, n_neighbors=NEIGHBORS, tol=tol, merge=merge)
    return path, stamps


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of a fusion path along a graph of neighbours.")
    parser.add_argument("--n", type=int, default=5000, help="points (default 5000)")
    parser.add_argument("--p", type=int, default=20, help="features (default 20)")
    parser.add_argument("--lams", type=int, default=200, help="values of lam along the path (default 200)")
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)

    X, y = draw(args.n, args.p)
    timed(X[:200], np.array([0.1, 1.0]), H1(1.5), 1e-3, True)  # compiles
    print(f"{args.n} x {args.p}, complete, {NEIGHBORS} neighbours, {args.lams} values of lam; CPU seconds")
    print(f"{'':<24}{'tol':>7}{'merging':>9}{'whole':>8}   {'by quarters of the path':<32}{'iterations':>11}{'ARI':>6}")
    for penalty, least, most in ((H1(1.5), 0.01, 10.0), (L1(1e-3), 1e-3, 3.0)):
        lams = np.geomspace(least, most, args.lams)
        for tol, merge in ((1e-3, True), (1e-3, False), (1e-6, True), (1e-6, False)):
            path, stamps = timed(X, lams, penalty, tol, merge)
            quarters = np.diff([stamps[args.lams * quarter // 4] for quarter in range(5)])
            best = max(adjusted_rand_score(y, labels) for labels in path.labels)
            parts = "".join(f"{part:8.2f}" for part in quarters)
            total = sum(point.n_iter for point in path)
            name = f"{penalty!r:<24}{tol:>7.0e}{'yes' if merge else 'no':>9}"
            print(f"{name}{quarters.sum():>8.2f}   {parts:<32}{total:>11}{best:>6.2f}", flush=True)


if __name__ == "__main__":
    main()
