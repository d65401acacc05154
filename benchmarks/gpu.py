"""The fusion loop on a GPU: neighbours, fusion along a graph, all pairs, and the share of its bandwidth they use.

``python benchmarks/gpu.py`` prints one table. Parts can be chosen (``--parts copy nearest graph dense table huge``) and
sizes set (``--n``, ``--huge``); ``--device cpu`` runs the parts ``nearest graph`` on the CPU for comparison
(``taskset -c 0,1`` restricts it to two cores). ``table`` takes a whole table (``--n`` rows, ``--p`` columns, 30% of the
entries hidden) from host memory to labels by ``fuse``, once as a whole and once with the time of each phase.
"""

from __future__ import annotations

import argparse
import importlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from unittest.mock import patch

import numpy as np

from fusewise.fidelity import Quadratic
from fusewise.fusion._loop import average, descend
from fusewise.fusion._problem import PooledEntries, Problem, place
from fusewise.kernels import Array, beside, nearest_in
from fusewise.observations import Quadratics, as_entries
from fusewise.pairs import CompletePairs, NeighborPairs
from fusewise.penalties import H1
from fusewise.progress import listening

CLUSTERS, FEATURES, HIDDEN, NOISE, NEIGHBORS = 20, 50, 0.3, 0.15, 15


def synchronise(device: str) -> None:
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()


def seconds(work: Callable[[], object], device: str, repeats: int = 7) -> float:
    """Median time of several runs after a warm-up run."""
    work()
    taken = []
    for _ in range(repeats):
        synchronise(device)
        begin = time.perf_counter()
        work()
        synchronise(device)
        taken.append(time.perf_counter() - begin)
    return float(np.median(taken))


def once(work: Callable[[], Array], device: str) -> tuple[Array, float]:
    """Return the result of a run and its duration."""
    synchronise(device)
    begin = time.perf_counter()
    result = work()
    synchronise(device)
    return result, time.perf_counter() - begin


def show(what: str, value: float, unit: str, note: str = "") -> None:
    print(f"{what:<62}{value:>12.4g} {unit:<6} {note}", flush=True)


def places(n: int, r: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = 6 * rng.standard_normal((CLUSTERS, r), dtype=np.float32)
    return centres[rng.integers(0, CLUSTERS, n)] + rng.standard_normal((n, r), dtype=np.float32)


def quadratics(where: np.ndarray, seed: int = 1) -> Quadratics:
    """Quadratics of rows of an incomplete table at coordinates v_i: G_i = Q_I' Q_I, h_i = G_i v_i."""
    n, r = where.shape
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((FEATURES, r)))[0].astype(np.float32)
    seen = (rng.random((n, FEATURES), dtype=np.float32) > HIDDEN).astype(np.float32)
    gram = (seen @ np.einsum("pk,pl->pkl", basis, basis).reshape(FEATURES, r * r)).reshape(n, r, r)
    target = np.einsum("nkl,nl->nk", gram, where)
    return Quadratics(gram, target, np.einsum("nk,nk->n", target, where))


def copy_rate(device: str) -> float:
    """Bytes per second of a large copy on the GPU, reads and writes counted."""
    import torch

    source = torch.randn(2**31, dtype=torch.float32, device=device)
    copy = torch.empty_like(source)
    rate = 2 * source.numel() * 4 / seconds(lambda: copy.copy_(source), device)
    show(f"copy on {torch.cuda.get_device_name()}", rate / 1e12, "TB/s")
    return rate


def neighbours(n: int, r: int, device: str) -> np.ndarray:
    """Find neighbours by tiles, and check them against all distances for some points."""
    import torch

    points = torch.from_numpy(places(n, r)).to(device)
    nearest_in(points[:10_000], NEIGHBORS)  # compiles the kernel
    (squares, indices), taken = once(lambda: nearest_in(points, NEIGHBORS), device)
    sample = torch.from_numpy(np.random.default_rng(2).choice(n, 200, replace=False)).to(device)
    every = torch.cdist(points[sample], points, compute_mode="donot_use_mm_for_euclid_dist")
    exact = every.topk(NEIGHBORS + 1, largest=False).values[:, -1:]  # the nearest is the point itself
    recall = float((squares[sample].sqrt() <= exact * (1 + 1e-4)).double().mean())
    show(f"{NEIGHBORS} nearest of {n:,} x {r}", taken, "s", f"recall {recall:.4f} on {len(sample)} points")
    return indices.cpu().numpy()


def graph(n: int, r: int, device: str, iterations: int, indices: np.ndarray, rate: float | None) -> None:
    """Run a fixed number of iterations of the loop along a graph of neighbours, at one lam (penalty strength)."""
    where = places(n, r)
    pairs, joining = once(lambda: NeighborPairs.from_neighbors(indices, np.float32, device), device)
    problem = Problem(quadratics(where), pairs, H1(3.0), Quadratic(), 1.0)
    placed, placing = once(lambda: place(problem, device), device)
    start = beside(where, placed.observations.target)
    descend(placed, start, max_iter=1, tol=0)
    descent, taken = once(lambda: descend(placed, start, max_iter=iterations, tol=0), device)
    note = f"{taken / descent.n_iter:.4f} s each, {len(pairs.first):,} edges, {device}"
    show(f"{descent.n_iter} iterations along the graph of {n:,} x {r}", taken, "s", note)
    show("   building the graph / copying it to the device", joining, "s", f"{placing:.3f} s")
    if rate is None:
        return
    weighted = placed.weigh(start)
    # Fewest bytes that must move: each edge, centre and block read once however often it is used, results written once.
    # An edge reads its two centres, or the one at its other end in each direction, from wherever they are.
    edges, centres, blocks = len(pairs.first), 4 * n * r, 4 * n * r * r
    gathers = 2 * edges * 4 * r
    for name, work, moved, fetched in (
        ("weights", lambda: placed.weigh(start), edges * (8 + 4) + centres + 2 * edges * (4 + 4), gathers),
        ("Laplacian", lambda: weighted.laplacian(start), 2 * edges * (4 + 4) + 2 * centres, gathers),
        ("products with blocks", lambda: placed.observations.normal(start), blocks + 2 * centres, 0),
        ("inverses of blocks", lambda: placed.observations.preconditioner(weighted.degree), 2 * blocks, 0),
    ):
        took = seconds(work, device, 5)
        note = f"{moved / took / 1e12:.2f} TB/s, {moved / took / rate:.0%} of copy"
        note += f"; {(moved + fetched) / took / rate:.0%} with the centres of every edge" if fetched else ""
        show(f"   {name}: at least {moved / 1e9:.2f} GB", took * 1e3, "ms", note)


def dense(n: int, p: int, device: str) -> None:
    """Time one averaging step over all pairs with H1, and its two matrix products."""
    rng = np.random.default_rng(0)
    table = rng.random((3, p), dtype=np.float32)[rng.integers(0, 3, n)]
    table += 0.1 * rng.standard_normal((n, p), dtype=np.float32)
    hidden = rng.random((n, p)) < HIDDEN
    entries = as_entries(np.where(hidden, np.float32(np.nan), table))
    problem = place(Problem(PooledEntries.of(entries), CompletePairs(n), H1(0.5), Quadratic(), 1.0), device)
    centers = beside(table, problem.observations.target)
    weighted = problem.weigh(centers)
    weights = weighted.matrix

    def products() -> None:
        (centers @ centers.T)
        (weights @ centers)

    step = seconds(lambda: average(problem, problem.weigh(centers), centers), device)
    both = seconds(products, device)
    show(
        f"step over all pairs, {n:,} x {p}",
        step * 1e3,
        "ms",
        f"{step / both:.2f} times its products, {both * 1e3:.1f} ms",
    )
    show("   weights alone", seconds(lambda: problem.weigh(centers), device) * 1e3, "ms")


def table_of(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Clusters with independent noise, some of the entries hidden; and the cluster of each row."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(size=(CLUSTERS, p)).astype(np.float32)
    truth = rng.integers(CLUSTERS, size=n)
    table = centres[truth] + NOISE * rng.standard_normal((n, p), dtype=np.float32)
    table[rng.random((n, p), dtype=np.float32) < HIDDEN] = np.nan
    return table, truth


@contextmanager
def phases(functions: Sequence[str], device: str) -> Iterator[None]:
    """Print the time spent in each of some functions, named by module, and in the others."""
    taken = dict.fromkeys(functions, 0.0)
    with ExitStack() as stack:
        for name in functions:
            where, attribute = resolve(name)
            stack.enter_context(patch.object(where, attribute, timed(getattr(where, attribute), name, taken, device)))
        begin = time.perf_counter()
        yield
        whole = time.perf_counter() - begin
    for name, seconds_in in sorted(taken.items(), key=lambda item: -item[1]):
        show(f"      {name.removeprefix('fusewise.')}", seconds_in, "s")
    show("      the rest", whole - sum(taken.values()), "s")


@contextmanager
def stages() -> Iterator[None]:
    """Print the time between the reports of progress, by what they report."""
    taken: dict[str, float] = {}
    now = ["before", time.perf_counter()]

    def note(stage: str, *_: object, **__: object) -> None:
        name, begun = now
        taken[name] = taken.get(name, 0.0) + time.perf_counter() - begun
        now[:] = [re.sub(r"[\d,.e+-]*\d", "N", stage), time.perf_counter()]

    with listening(note):
        yield
    note("after")
    for name, seconds_in in sorted(taken.items(), key=lambda item: -item[1]):
        show(f"      stage: {name}", seconds_in, "s")


def resolve(name: str) -> tuple[object, str]:
    """The module or class that has a function, and its name there."""
    path, _, attribute = name.rpartition(".")
    module, _, kind = path.partition(":")
    where = importlib.import_module(module)
    return (getattr(where, kind) if kind else where), attribute


def timed(function: Callable[..., Array], name: str, taken: dict[str, float], device: str) -> Callable[..., Array]:
    """The function, which adds up the time that it takes."""

    @wraps(function)
    def measured(*args: Array, **kwargs: Array) -> Array:
        result, seconds_in = once(lambda: function(*args, **kwargs), device)
        taken[name] += seconds_in
        return result

    return measured


#: Functions that do not call each other.
PHASES_OF_FUSE = (
    "fusewise.fusion._problem.as_entries",
    "fusewise.fusion._problem.refuse_tiny",
    "fusewise.fusion._problem.fit_subspace",
    "fusewise.subspace._projection:RowsOnDevice.information",
    "fusewise.fusion._problem.coordinates_of",
    "fusewise.fusion._problem.nearest_expected",
    "fusewise.fusion._merging.place",
    "fusewise.fusion._fuse.start",
    "fusewise.fusion._fuse.descend",
    "fusewise.fusion._merging:MergedProblem.groups",
    "fusewise.fusion._fuse.conclude",
)


def whole(n: int, p: int, r: int, device: str) -> None:
    """From a table in memory to labels by ``fuse``: subspace, neighbours, fusion, groups."""
    from sklearn.metrics import adjusted_rand_score

    from fusewise import fuse

    table, truth = table_of(n, p)

    def fused(rows: np.ndarray) -> np.ndarray:
        how = {"rank": r, "n_neighbors": NEIGHBORS, "device": device, "tol": 1e-3}
        return fuse(rows, lam=10.0, penalty=H1(1.0), **how).labels

    fused(table[:20_000])  # compiles
    labels, taken = once(lambda: fused(table), device)
    score = adjusted_rand_score(truth, labels)
    large = np.count_nonzero(np.bincount(labels[labels >= 0]) > n / (10 * CLUSTERS))
    note = f"ARI {score:.3f}, {large} large clusters"
    show(f"table of {n:,} x {p} to labels, fuse on {device}", taken, "s", note)
    with phases(PHASES_OF_FUSE, device), stages():
        fused(table)


def main() -> None:
    parser = argparse.ArgumentParser(description="The fusion loop on a GPU.")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--parts", nargs="+", default=["copy", "nearest", "graph", "dense", "table"])
    parser.add_argument("--n", type=int, default=1_000_000, help="number of points in the graph")
    parser.add_argument("--p", type=int, default=FEATURES, help="columns of the table")
    parser.add_argument("--r", type=int, default=10, help="dimensions of the points")
    parser.add_argument("--iterations", type=int, default=10, help="iterations of the loop along the graph")
    parser.add_argument("--dense", type=int, default=50_000, help="number of points in the part with all pairs")
    args = parser.parse_args()
    rate = copy_rate(args.device) if "copy" in args.parts else None
    indices = neighbours(args.n, args.r, args.device) if "nearest" in args.parts else None
    if indices is not None and "graph" in args.parts:
        graph(args.n, args.r, args.device, args.iterations, indices, rate)
    if "dense" in args.parts:
        dense(args.dense, FEATURES, args.device)
    if "table" in args.parts:
        whole(args.n, args.p, args.r, args.device)


if __name__ == "__main__":
    main()
