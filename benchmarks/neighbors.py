"""Nearest neighbours of many points: faiss's lists compared with the exact tree, in seconds and recall.

``python benchmarks/neighbors.py [--sizes 100000 1000000] [--r 10]`` prints one table. The points form twenty
Gaussian clusters in r dimensions; the 46 nearest are found, as for a graph of 15 neighbours with uncertain positions.
Queries are timed on some blocks of points and scaled to all.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.spatial import cKDTree

from fusewise.kernels import in_threads
from fusewise.kernels._threads import n_threads
from fusewise.pairs._expected import BLOCK, CANDIDATES, NeighborSearch, by_lists

CLUSTERS, COUNT, BLOCKS = 20, CANDIDATES * 15 + 1, 8


def draw(n: int, r: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    centres = 6 * rng.standard_normal((CLUSTERS, r))
    return centres[rng.integers(0, CLUSTERS, n)] + rng.standard_normal((n, r))


def timed(search: NeighborSearch, blocks: list[np.ndarray]) -> tuple[np.ndarray, float]:
    """Return the neighbours found, and the seconds per block."""
    begin = time.perf_counter()
    found = np.concatenate(list(in_threads(lambda points: search(points, COUNT), blocks)))
    return found, (time.perf_counter() - begin) / len(blocks)


def main() -> None:
    parser = argparse.ArgumentParser(description="Nearest neighbours of many points.")
    parser.add_argument("--sizes", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--r", type=int, default=10)
    args = parser.parse_args()
    print(f"{COUNT} nearest, {n_threads()} threads\n| points | tree s | lists s | of which building | ratio | recall |")
    print("|---" * 6 + "|")
    for n in args.sizes:
        points = draw(n, args.r)
        tree = cKDTree(points)
        begin = time.perf_counter()
        lists = by_lists(points)
        making = time.perf_counter() - begin
        if lists is None:
            raise SystemExit('this benchmark needs faiss: pip install "fusewise[neighbors]"')
        blocks = [points[start : start + BLOCK] for start in np.linspace(0, n - BLOCK, BLOCKS).astype(int)]
        exact, slow = timed(lambda some, count, tree=tree: np.asarray(tree.query(some, count)[1]), blocks)
        found, fast = timed(lists, blocks)
        recall = np.mean([len(np.intersect1d(a, b)) / COUNT for a, b in zip(exact, found, strict=True)])
        slow, fast = slow * n / BLOCK, making + fast * n / BLOCK
        print(
            f"| {n:,} x {args.r} | {slow:.0f} | {fast:.1f} | {making:.1f} | {fast / slow:.2f} | {recall:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
