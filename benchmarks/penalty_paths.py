"""Time and objective of the path of every penalty along a graph of neighbours, with and without missing values.

    python benchmarks/penalty_paths.py [--n 5000] [--p 20] [--lams 50] [--keep FILE] [--against FILE]

Each path runs over increasing values of lam, the penalty's strength, from separate rows to few groups. Seconds are
those of the CPU (for one core set ``OMP_NUM_THREADS=1``). ``--keep`` saves times and objectives, for example of another
version of the library; ``--against`` compares with them: the ratio of the times, and the smallest and largest relative
difference of the objectives over the points of the path.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fusewise import FusionPath, fusion_path
from fusewise.penalties import H1, L1, MCP, SCAD, GemanMcClure, Lp, Penalty, TruncatedL2
from scale import clusters

NEIGHBORS = 15

#: Penalties on the scale of standardised columns, and the first and last lam of their paths.
PENALTIES: list[tuple[Penalty, float, float]] = [
    (L1(1e-3), 1e-3, 30.0),
    (Lp(0.5, 1e-3), 1e-3, 30.0),
    (H1(1.5), 1e-2, 30.0),
    (MCP(4.0), 1e-2, 30.0),
    (SCAD(4.0), 1e-2, 30.0),
    (GemanMcClure(2.0), 1e-2, 30.0),
    (TruncatedL2(4.0), 1e-2, 30.0),
]


def draw(n: int, p: int, hidden: float) -> np.ndarray:
    """Ten overlapping clusters with standardised columns."""
    X, _ = clusters(n, p, 10, 0.25, hidden)
    return (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time and objective of the path of every penalty.")
    parser.add_argument("--n", type=int, default=5000, help="rows (default 5000)")
    parser.add_argument("--p", type=int, default=20, help="columns (default 20)")
    parser.add_argument("--lams", type=int, default=50, help="values of lam (default 50)")
    parser.add_argument("--tol", type=float, default=1e-3, help="relative gradient at the end (default 1e-3)")
    parser.add_argument("--only", nargs="*", default=[], help="names of penalties, for example H1 MCP (default: all)")
    parser.add_argument("--keep", type=Path, help="file to save times and objectives to")
    parser.add_argument("--against", type=Path, help="file of another run to compare with")
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    before = json.loads(args.against.read_text()) if args.against else {}
    kept = {}

    def run(X: np.ndarray, penalty: Penalty, lams: np.ndarray) -> FusionPath:
        return fusion_path(X, lams=lams, penalty=penalty, n_neighbors=NEIGHBORS, tol=args.tol)

    print(
        "| penalty | hidden | CPU seconds | iterations | converged | groups at the end | before | ratio | objective |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for hidden in (0.0, 0.3):
        X = draw(args.n, args.p, hidden)
        for penalty, least, most in PENALTIES:
            name = type(penalty).__name__
            if args.only and name not in args.only:
                continue
            lams = np.geomspace(least, most, args.lams)
            run(X[:500], penalty, lams[::10])  # compiles
            begin = time.process_time()
            path = run(X, penalty, lams)
            seconds = time.process_time() - begin
            key = f"{name} {hidden}"
            kept[key] = {"seconds": seconds, "objectives": [point.objective for point in path]}
            row = f"| {name} | {hidden:.0%} | {seconds:.2f} | {sum(point.n_iter for point in path)} "
            row += f"| {path.converged.sum()} of {len(path)} | {path.n_clusters[-1]} |"
            if key in before:
                earlier = before[key]
                change = np.array(kept[key]["objectives"]) / earlier["objectives"] - 1
                ratio = seconds / earlier["seconds"]
                row += f" {earlier['seconds']:.2f} | {ratio:.2f} | {change.min():+.1e} to {change.max():+.1e} |"
            else:
                row += " | | |"
            print(row, flush=True)
    if args.keep:
        args.keep.write_text(json.dumps(kept))


if __name__ == "__main__":
    main()
