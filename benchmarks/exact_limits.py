"""How far the exact l0 solver goes: simulated clusters of growing difficulty, and random graphs, within time limits.

``OMP_NUM_THREADS=1 python benchmarks/exact_limits.py [--limit 60]``: about ten minutes. Tables have N rows, P features
and 4 uniform clusters of width epsilon = 1, kappa = 0.9 (epsilon sqrt(P) over the distance between clusters); each
entry is observed with probability p0. A random graph has an edge between two points, which may then share a centre,
with probability `density`.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import numpy.typing as npt

from fusewise.exact import ExactSolution, solve_l0

TABLES = [(200, 50, 0.5), (200, 20, 0.5), (200, 20, 0.3), (200, 10, 0.5), (500, 10, 0.5), (200, 10, 0.4), (200, 6, 0.5)]
GRAPHS = [(60, 0.3), (60, 0.5), (60, 0.7), (80, 0.5), (80, 0.7), (100, 0.3), (100, 0.5)]
KAPPA, CLUSTERS = 0.9, 4

Array = npt.NDArray[np.float64]


def simulated(rows: int, columns: int, p0: float, seed: int) -> tuple[Array, npt.NDArray[np.int_]]:
    """A table, and its true clusters; the nearest points of two clusters are sqrt(P)/kappa apart, or 5% more."""
    rng = np.random.default_rng(seed)
    truth = np.arange(rows) % CLUSTERS
    centers = rng.standard_normal((CLUSTERS, columns))
    noise = rng.uniform(-0.5, 0.5, (rows, columns))
    scale = 0.1
    while _separation(X := scale * centers[truth] + noise, truth) < math.sqrt(columns) / KAPPA:
        scale *= 1.05
    X[rng.random(X.shape) > p0] = np.nan
    return X, truth


def _separation(X: Array, truth: npt.NDArray[np.int_]) -> float:
    squared = np.square(X).sum(axis=1)
    distances = squared[:, None] + squared - 2 * X @ X.T
    return math.sqrt(max(0.0, distances[truth[:, None] != truth].min()))


def realised(nodes: int, density: float, seed: int) -> Array:
    """A table in which two rows can share a centre (epsilon = 1) if a random graph has the edge."""
    upper = np.triu(np.random.default_rng(seed).random((nodes, nodes)) < density, 1)
    apart = np.argwhere(np.triu(~upper, 1))
    X = np.full((nodes, len(apart) + 1), np.nan)
    X[:, -1] = 0.0
    for column, (i, j) in enumerate(apart):
        X[i, column], X[j, column] = 0.0, 2.0
    return X


def feasible_across(X: Array, truth: npt.NDArray[np.int_]) -> float:
    """Share of the pairs from different clusters that could share a centre."""
    far = np.nanmax(np.nan_to_num(np.abs(X[:, None] - X), nan=0.0), axis=2)
    return float((far <= 1)[truth[:, None] != truth].mean())


def described(solution: ExactSolution) -> str:
    """Result and seconds, as cells of a table."""
    result = "optimal" if solution.gap == 0 else f"gap {solution.gap:.2%} ({solution.status})"
    return f"{result} | {solution.seconds:.1f} |"


def main() -> None:
    """Print both tables, in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each problem")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print("| N | P | p0 | feasible pairs across clusters | result | seconds |\n|---|---|---|---|---|---|")
    for rows, columns, p0 in TABLES:
        X, truth = simulated(rows, columns, p0, asked.seed)
        solution = solve_l0(X, 1.0, time_limit=asked.limit)
        print(f"| {rows} | {columns} | {p0} | {feasible_across(X, truth):.1%} | {described(solution)}", flush=True)
    print("\n| N | density | result | seconds |\n|---|---|---|---|")
    for nodes, density in GRAPHS:
        solution = solve_l0(realised(nodes, density, asked.seed), 1.0, time_limit=asked.limit)
        print(f"| {nodes} | {density} | {described(solution)}", flush=True)


if __name__ == "__main__":
    main()
