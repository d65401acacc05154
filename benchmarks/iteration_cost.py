"""Cost of one averaging step over all pairs, compared with the two N x N x P matrix products it needs.

Run it on an idle machine: ``python benchmarks/iteration_cost.py [--n 4000] [--p 50] [--repeats 7]``. The products,
U U' (for the distances) and W U (for the averages), are timed in the same run and on the same threads.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from fusewise.datasets import hide_entries, make_clusters
from fusewise.fidelity import Quadratic
from fusewise.fusion._loop import average
from fusewise.fusion._problem import PooledEntries, Problem
from fusewise.observations import as_entries
from fusewise.pairs import CompletePairs
from fusewise.penalties import H1


def best_times(works: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Seconds of the fastest of several runs of each, in alternation so that all see the same load."""
    seconds = dict.fromkeys(works, np.inf)
    for _ in range(repeats + 1):  # the first round warms up, and is never the fastest
        for name, work in works.items():
            begin = time.perf_counter()
            work()
            seconds[name] = min(seconds[name], time.perf_counter() - begin)
    return seconds


def peak_memory(work: Callable[[], object]) -> int:
    """Peak of the bytes allocated in addition to those before."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    work()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak


def pose(n: int, p: int, missing: float) -> tuple[Problem, np.ndarray]:
    """Set up a problem of three clusters, with centres halfway to their means."""
    X, y, means = make_clusters(3, [n // 3, n // 3, n - 2 * (n // 3)], p, random_state=0)
    entries = as_entries(hide_entries(X, missing, random_state=0))
    problem = Problem(PooledEntries.of(entries), CompletePairs(n), H1(0.5), Quadratic(), lam=1.0)
    return problem, (entries.fill(means[y]) + means[y]) / 2


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of one averaging step over all pairs.")
    parser.add_argument("--n", type=int, default=4000, help="points (default 4000)")
    parser.add_argument("--p", type=int, default=50, help="features (default 50)")
    parser.add_argument("--missing", type=float, default=0.3, help="fraction of entries hidden (default 0.3)")
    parser.add_argument("--repeats", type=int, default=7, help="runs, of which the fastest counts (default 7)")
    args = parser.parse_args()

    problem, centers = pose(args.n, args.p, args.missing)
    weighted = problem.weigh(centers)

    def step() -> None:
        average(problem, problem.weigh(centers), centers, n_steps=1)

    seconds = best_times(
        {
            "U U'": lambda: centers @ centers.T,
            "W U": lambda: weighted.matrix @ centers,
            "weigh": lambda: problem.weigh(centers),
            "average": lambda: average(problem, weighted, centers, n_steps=1),
            "whole step": step,
        },
        args.repeats,
    )
    products = seconds["U U'"] + seconds["W U"]
    memory = peak_memory(step) / (args.n**2 * centers.itemsize)

    print(f"N = {args.n}, P = {args.p}, {args.missing:.0%} missing, all pairs")
    for name, value in seconds.items():
        print(f"  {name:12s} {1e3 * value:9.1f} ms   {value / products:6.2f} x the two products")
    print(f"ratio of a step to the two products: {seconds['whole step'] / products:.2f} (at most 5; goal 2)")
    print(f"peak memory of a step: {memory:.2f} arrays of N x N floats (at most 6)")


if __name__ == "__main__":
    main()
