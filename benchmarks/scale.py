"""Time and memory with default settings on long tables, compared with other methods in the same run.

    python benchmarks/scale.py                        # everything
    python benchmarks/scale.py ccmm million           # some of it: ccmm, mnist, million, wide, sparse, imputers, small,
                                                      # first, many, rare, dask, growth
    python benchmarks/scale.py imputers --sizes 1000 10000
    python benchmarks/scale.py dask --sizes 10000000  # 100,000,000 rows by default
    python benchmarks/scale.py mnist --mnist folder   # with the folder that holds the four idx files of MNIST

Each measurement runs in its own process on ``--threads`` threads. Before the clock starts the data are generated, and a
small table is fitted so that all code is compiled. Peak memory is that of the process, data included. CCMM is measured
if the interpreter ``--ccmm-python`` (by default this one) can import ``ccmmpy``. Methods marked (K) are given the
number of clusters. *Choosing* is the share of our time spent comparing partitions.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

#: Number of steps of a path.
STEPS = 200

Table = tuple[np.ndarray, np.ndarray]
Work = Callable[[np.ndarray, int], Any]


def clusters(n: int, p: int, k: int, noise: float, hidden: float, seed: int = 0) -> Table:
    """Gaussian clusters with centres uniform in the unit cube, some entries hidden."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    X = rng.uniform(size=(k, p))[y]
    for rows in (slice(i, i + 10_000) for i in range(0, n, 10_000)):
        X[rows] += rng.normal(scale=noise, size=X[rows].shape)
        X[rows][rng.random(X[rows].shape) < hidden] = np.nan
    return X, y


def ratings(n: int, p: int, k: int, noise: float, seen: float, seed: int = 0) -> tuple[Any, np.ndarray]:
    """A sparse table of k clusters of which only a small share of the entries is generated and stored."""
    from scipy import sparse

    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    centers = rng.normal(size=(k, p)).astype(np.float32)
    ends = rng.integers(n, size=int(seen * n * p)), rng.integers(p, size=int(seen * n * p))
    values = centers[y[ends[0]], ends[1]] + noise * rng.standard_normal(len(ends[0]), np.float32)
    table = sparse.coo_matrix((values, ends), (n, p)).tocsr()
    return table, y


def blobs(n: int, k: int, hidden: float = 0.0, seed: int = 0) -> Table:
    """Blobs of equal size and spread 1 in ten columns, by scikit-learn."""
    from sklearn.datasets import make_blobs

    X, y = make_blobs(n, 10, centers=k, cluster_std=1.0, random_state=seed)
    X[np.random.default_rng(seed).random(X.shape) < hidden] = np.nan
    return X, y


def with_rare(n: int, size: int, hidden: float = 0.0, seed: int = 0) -> Table:
    """One Gaussian cluster in ten columns, and a group of a few rows ten spreads away in a random direction."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 10)), np.zeros(n, int)
    way, rows = rng.standard_normal(10), rng.choice(n, size, replace=False)
    X[rows] += 10 * way / np.linalg.norm(way)
    y[rows] = 1
    X[rng.random(X.shape) < hidden] = np.nan
    return X, y


def mnist(folder: str | None, hidden: float) -> Table:
    """60,000 MNIST digits in ten principal components; without the files, ten overlapping clusters of that size."""
    if folder is None:
        return clusters(60_000, 10, 10, 0.2, hidden)
    images = idx(Path(folder), "train-images-idx3-ubyte").reshape(60_000, -1).astype(float)
    images -= images.mean(axis=0)
    X = images @ np.linalg.eigh(images.T @ images)[1][:, :-11:-1]
    X[np.random.default_rng(0).random(X.shape) < hidden] = np.nan
    return X, idx(Path(folder), "train-labels-idx1-ubyte")


def idx(folder: Path, name: str) -> np.ndarray:
    """Read an array in the format of the MNIST files, compressed or not."""
    plain, packed = folder / name, folder / f"{name}.gz"
    data = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
    shape = np.frombuffer(data, ">u4", count=data[3], offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


class Choosing:
    """Measures the seconds a fit spends comparing partitions, from its progress calls."""

    def __init__(self) -> None:
        self.seconds, self.before = 0.0, time.perf_counter()

    def __call__(self, stage: str, iteration: int, total: int | None = None, **values: float) -> None:
        """Record a progress call."""
        now = time.perf_counter()
        self.seconds += now - self.before if stage == "comparing partitions" else 0.0
        self.before = now


#: The measurement of the last fit.
choosing = Choosing()


def ours(X: np.ndarray, k: int) -> np.ndarray:
    from fusewise import FusionClustering
    from fusewise.progress import listening

    choosing.seconds, choosing.before = 0.0, time.perf_counter()
    with listening(choosing):
        return FusionClustering().fit(X).labels_


#: Strengths of the convex penalty, from separate points to one cluster, and the function that gives the objectives
#: sum_i ||x_i - u_i||² + 2 lam sum_edges ||u_i - u_j|| of the last path (called after the clock has stopped).
LAMS = np.concatenate([[0.0], np.geomspace(5e-3, 500, STEPS - 1)])
objectives: Callable[[], list[float]] = list


def our_path(X: np.ndarray, k: int) -> None:
    """Convex clustering along a graph of 15 neighbours; centres fuse within about CCMM's threshold (6e-3 here)."""
    global objectives
    from fusewise import fusion_path
    from fusewise.penalties import L1

    X = (X - X.mean(axis=0)) / X.std(axis=0)
    path = fusion_path(X, lams=LAMS, penalty=L1(5e-3), n_neighbors=15, tol=3e-3)

    def evaluate() -> list[float]:
        from sklearn.neighbors import kneighbors_graph

        graph = kneighbors_graph(X, 15)
        first, second = graph.maximum(graph.T).nonzero()  # every edge twice
        lengths = (np.linalg.norm(s.centers[first] - s.centers[second], axis=1).sum() for s in path)
        return [float(((X - s.centers) ** 2).sum() + s.lam * t) for s, t in zip(path, lengths, strict=True)]

    objectives = evaluate


def ccmm_path(X: np.ndarray, k: int) -> None:
    """The same problem: phi = 0 gives all edges the same weight."""
    global objectives
    from ccmmpy import CCMM, SparseWeights

    X = (X - X.mean(axis=0)) / X.std(axis=0)
    weights = SparseWeights(X, k=15, phi=0.0, connected=True, connection_type="MST")
    size = np.linalg.norm(X)  # its loss is ours over 2 size², its lambda ours times the sum of the weights over size
    found = CCMM(X, weights).convex_clusterpath(LAMS * weights.values().sum() / (2 * size), save_clusterpath=False)
    objectives = lambda: (found.info["loss"].to_numpy(float) * 2 * size**2).tolist()  # noqa: E731


def iterative_kmeans(X: np.ndarray, k: int) -> np.ndarray:
    from sklearn.cluster import KMeans
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    filled = IterativeImputer(random_state=0).fit_transform(X)
    return KMeans(k, n_init=10, random_state=0).fit_predict(filled)


def knn_hdbscan(X: np.ndarray, k: int) -> np.ndarray:
    from sklearn.cluster import HDBSCAN
    from sklearn.impute import KNNImputer

    return HDBSCAN(copy=True).fit_predict(KNNImputer().fit_transform(X))


def stepmix(X: np.ndarray, k: int) -> np.ndarray:
    """A mixture with independent columns, by EM on the observed entries from five starts."""
    from stepmix.stepmix import StepMix

    model = StepMix(k, measurement="gaussian_diag_nan", n_init=5, max_iter=300, random_state=0, progress_bar=0)
    return np.asarray(model.fit(X).predict(X))


def mini_batches(X: np.ndarray, k: int) -> np.ndarray:
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(k, n_init=3, random_state=0).fit_predict(X)


def isolation(X: np.ndarray, k: int) -> np.ndarray:
    """The rows that a forest isolates first, as many as there are in the rare group (100)."""
    from sklearn.ensemble import IsolationForest

    return (
        IsolationForest(contamination=100 / len(X) if len(X) > 1000 else 0.1, random_state=0).fit_predict(X) < 0
    ) * 1


METHODS: dict[str, Work] = {
    "Fusewise": ours,
    "Fusewise, path": our_path,
    "CCMM, path": ccmm_path,
    "IterativeImputer + KMeans (K)": iterative_kmeans,
    "KNNImputer + HDBSCAN": knn_hdbscan,
    "StepMix (K)": stepmix,
    "MiniBatchKMeans (K)": mini_batches,
    "IsolationForest (share)": isolation,
}


def measure(method: str, make: str, arguments: dict[str, Any], k: int) -> dict[str, Any]:
    """Run one measurement in this process: seconds, peak GiB and, if there are labels, their adjusted Rand index."""
    if make == "on_cluster":
        import dask_scale

        return dask_scale.on_cluster(**arguments)
    made = {"clusters": clusters, "mnist": mnist, "ratings": ratings, "blobs": blobs, "with_rare": with_rare}
    repeats = arguments.pop("repeats", 1)
    X, y = made[make](**arguments)
    work = METHODS[method]
    # For very small tables alone no loops are compiled.
    work(X[:500] if X.shape[0] >= 500 else made[make](**arguments | {"n": 500})[0], min(k, 100))
    if make == "blobs" and method == "Fusewise":  # the loops for many clusters
        work(blobs(4000, 40, arguments.get("hidden", 0.0), seed=1)[0], 40)
    result = {"seconds": np.inf, "cpu": np.inf}
    for _ in range(repeats):
        begin, spent = time.perf_counter(), time.process_time()
        labels = work(X, k)
        last = time.perf_counter() - begin
        result["seconds"] = min(result["seconds"], last)
        result["cpu"] = min(result["cpu"], time.process_time() - spent)
    result["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if method == "Fusewise":
        result["choosing"] = choosing.seconds / last
    if method.endswith("path"):
        result["objectives"] = objectives()
    if labels is not None:
        from sklearn.metrics import adjusted_rand_score

        result["ari"], result["found"] = adjusted_rand_score(y, labels), len(set(labels.tolist()) - {-1})
    return result


class Run:
    """Runs measurements in separate processes, and prints them as rows of one table."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.found: dict[str, dict[str, Any]] = {}
        print("| table | method | seconds | CPU seconds | peak GiB | ARI | clusters | choosing |")
        print("|---|---|---|---|---|---|---|---|", flush=True)

    def cell(self, method: str, table: str, make: str, given: int, /, **arguments: Any) -> float:
        """Run one measurement, print its row and return the seconds, NaN if it failed."""
        python = self.options.ccmm_python if method.startswith("CCMM") else sys.executable
        job = json.dumps([method, make, arguments, given])
        threads = str(self.options.threads)
        environment = os.environ | {"OMP_NUM_THREADS": threads, "NUMBA_NUM_THREADS": threads}
        try:
            done = subprocess.run(
                [python, __file__, "--cell", job, "--cpu-limit", str(self.options.cpu_limit)],
                env=environment,
                capture_output=True,
                text=True,
                timeout=self.options.limit,
            )
        except subprocess.TimeoutExpired:
            print(f"| {table} | {method} | over {self.options.limit} | | | | | |", flush=True)
            return float("nan")
        if done.returncode == -signal.SIGXCPU:
            print(f"| {table} | {method} | over {self.options.cpu_limit} CPU seconds | | | | | |", flush=True)
            return float("nan")
        if done.returncode:
            reason = "not installed" if "No module named" in done.stderr else done.stderr.strip()[-200:] or "killed"
            print(f"| {table} | {method} | {reason.splitlines()[-1]} | | | | | |", flush=True)
            return float("nan")
        found = self.found[method] = json.loads(done.stdout.splitlines()[-1])
        score = (f"{found['ari']:.3f}" if "ari" in found else "") + f" | {found.get('found', '')}"
        digits = 1 if found["cpu"] >= 10 else 2
        numbers = f"{found['seconds']:.{digits}f} | {found['cpu']:.{digits}f} | {found['peak']:.2f}"
        share = f"{found['choosing']:.0%}" if "choosing" in found else ""
        print(f"| {table} | {method} | {numbers} | {score} | {share} |", flush=True)
        return float(found["seconds"])

    @staticmethod
    def say(what: str, number: str) -> None:
        """Print a row with a number that is not a measurement of its own."""
        print(f"| | {what} | {number} | | | | | |", flush=True)


def against_ccmm(run: Run) -> None:
    """The whole path of the same convex problem on complete tables; and the objectives at every lam."""
    for n, p, noise in ((5000, 20, 0.25), (60_000, 10, 0.2)):
        if n not in (run.options.sizes or [n]):
            continue
        for method in ("Fusewise, path", "CCMM, path"):
            run.cell(method, f"{n:,} x {p}", "clusters", 10, n=n, p=p, k=10, noise=noise, hidden=0.0)
        ours, theirs = (
            np.array(run.found.get(method, {}).get("objectives", [])) for method in METHODS if "path" in method
        )
        if len(ours) == len(theirs) > 0:
            excess = ours[1:] / theirs[1:] - 1
            print(f"| | our objective over theirs | {excess.min():+.1e} to {excess.max():+.1e} | | | | | |", flush=True)


def against_ccmm_on_digits(run: Run) -> None:
    """Default settings with and without hidden entries; CCMM's path and k-means given K on the complete table."""
    folder = run.options.mnist
    name = "MNIST" if folder else "MNIST-like"
    run.cell("Fusewise", f"{name}, 60,000 x 10, 30% hidden", "mnist", 10, folder=folder, hidden=0.3)
    for method in ("Fusewise", "IterativeImputer + KMeans (K)", "CCMM, path"):
        run.cell(method, f"{name}, 60,000 x 10", "mnist", 10, folder=folder, hidden=0.0)


def million(run: Run) -> None:
    """Tables of up to a million rows, and the growth of time with the number of rows."""
    sizes = run.options.sizes or [10_000, 100_000, 1_000_000]
    seconds = [
        run.cell("Fusewise", f"{n:,} x 10, 30% hidden", "clusters", 20, n=n, p=10, k=20, noise=0.05, hidden=0.3)
        for n in sizes
    ]
    if len(sizes) > 1:
        growth = np.log(seconds[-1] / seconds[0]) / np.log(sizes[-1] / sizes[0])
        print(f"| time grows as | N^{growth:.2f} | from {sizes[0]:,} | to {sizes[-1]:,} | | | | |", flush=True)


def wide(run: Run) -> None:
    """A table on which imputers run out of memory."""
    for n in run.options.sizes or [350_000]:
        run.cell("Fusewise", f"{n:,} x 250, 30% hidden", "clusters", 20, n=n, p=250, k=20, noise=0.3, hidden=0.3)


def nearly_empty(run: Run) -> None:
    """A sparse table of ratings that would take 80 GB as a dense array."""
    for n in run.options.sizes or [1_000_000]:
        name = f"{n:,} x 10,000, 0.1% observed"
        run.cell("Fusewise", name, "ratings", 5, n=n, p=10_000, k=5, noise=0.6, seen=0.001)


def first_fit(run: Run) -> None:
    """The first fit in a new process, with and without compiled code in the cache; 3 and 10 clusters."""
    script = """
import sys, time; from scale import clusters; X, _ = clusters(1000, 20, int(sys.argv[1]), 0.25, 0.3)
a = time.perf_counter(); from fusewise import FusionClustering
b = time.perf_counter(); FusionClustering().fit(X); print(b - a, time.perf_counter() - b)
"""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder, "OMP_NUM_THREADS": str(run.options.threads)}
        for name, k in (("cache empty", "3"), ("cache full", "3"), ("cache full", "10")):
            done = subprocess.run(
                [sys.executable, "-c", script, k],
                env=environment | {"PYTHONPATH": str(Path(__file__).parent)},
                capture_output=True,
                text=True,
                check=True,
            )
            imported, fitted = map(float, done.stdout.split())
            row = f"| 1,000 x 20, {k} clusters | first fit, {name} | {fitted:.1f} (imports {imported:.1f}) | | | | | |"
            print(row, flush=True)


def against_imputers(run: Run) -> None:
    """The usual approaches: imputation, then clustering."""
    for n in run.options.sizes or [1000, 10_000, 100_000]:
        for method in ("Fusewise", "IterativeImputer + KMeans (K)", "KNNImputer + HDBSCAN"):
            run.cell(method, f"{n:,} x 20, 30% hidden", "clusters", 10, n=n, p=20, k=10, noise=0.1, hidden=0.3)


def small(run: Run) -> None:
    """Small tables: time over that of imputing and k-means given K, each the best of three fits."""
    for n, p in ((200, 20), (1000, 20), (10_000, 20), (5000, 50)):
        if n not in (run.options.sizes or [n]):
            continue
        methods = ("Fusewise", "IterativeImputer + KMeans (K)")
        for method in methods:
            table = {"n": n, "p": p, "k": 10, "noise": 0.1, "hidden": 0.3, "repeats": 3}
            run.cell(method, f"{n:,} x {p}, 30% hidden", "clusters", 10, **table)
        ours, theirs = (run.found.get(method, {}) for method in methods)
        if ours and theirs:
            ratios = [ours[of] / theirs[of] for of in ("seconds", "cpu")]
            run.say("ours over theirs: seconds, CPU seconds", "{:.2f}, {:.2f}".format(*ratios))


def many(run: Run) -> None:
    """40, 100 and 300 clusters of 100 rows; a thousand in a million rows, and k-means told their number."""
    for k in (40, 100, 300):
        for hidden in (0.0, 0.2):
            name = f"{100 * k:,} x 10, {k} blobs, {hidden:.0%} hidden"
            run.cell("Fusewise", name, "blobs", k, n=100 * k, k=k, hidden=hidden)
    for n in run.options.sizes or [1_000_000]:
        for method in ("Fusewise", "MiniBatchKMeans (K)"):
            run.cell(method, f"{n:,} x 10, 1000 blobs", "blobs", 1000, n=n, k=1000)


def rare(run: Run) -> None:
    """A group of 100 rows ten spreads away from all others; a forest is told how many rows are unusual."""
    for n in run.options.sizes or [1_000_000]:
        for method in ("Fusewise", "IsolationForest (share)"):
            run.cell(method, f"{n:,} x 10, of which 100 apart", "with_rare", 2, n=n, size=100)
        run.cell("Fusewise", f"{n:,} x 10, of which 100 apart, 30% hidden", "with_rare", 2, n=n, size=100, hidden=0.3)
        run.cell("Fusewise", f"{n:,} x 10, none apart", "with_rare", 2, n=n, size=0)


def on_dask(run: Run) -> None:
    """Rows generated block by block on a ``LocalCluster`` of two workers, between two fits of a million in memory."""

    def in_memory() -> dict[str, Any]:
        run.cell("Fusewise", "1,000,000 x 10, 30% hidden", "clusters", 20, n=10**6, p=10, k=20, noise=0.05, hidden=0.3)
        return run.found["Fusewise"]

    def lazily(n: int, workers: int, scored: bool = True) -> dict[str, Any]:
        method = f"Fusewise, {workers} worker{'s' * (workers > 1)}"
        run.cell(method, f"{n:,} x 10, 30% hidden", "on_cluster", 20, n=n, workers=workers, scored=scored)
        return run.found[method]

    for n in run.options.sizes or [100_000_000]:
        before, found, after = in_memory(), lazily(n, 2), in_memory()
        ratios = [found[of] / n / (before[of] + after[of]) * 2e6 for of in ("seconds", "cpu")]
        run.say("time per row, over that of the million", "{:.2f} (CPU {:.2f})".format(*ratios))
        memory = ", ".join(f"{peak:.2f}" for peak in found["workers"])
        run.say("peak GiB of each worker, and of the client", f"{memory}, {found['client']:.2f}")
        run.say("seconds of each pass", ", ".join(f"{one:.1f}" for one in found["passes"]))
        run.say(f"seconds to generate {found['blocks']} blocks, in each pass", f"{found['generating']:.1f}")
        few = min(n, 5_000_000)
        rates = [few / lazily(few, workers, scored=False)["seconds"] for workers in (1, 2)]
        run.say("rows per second with one and two workers", "{:,.0f}, {:,.0f}".format(*rates))


def grown(run: Run) -> None:
    """Time and memory against rows, columns, missing entries and clusters."""
    from growth import growth

    growth(run)


PARTS: dict[str, Callable[[Run], None]] = {
    "ccmm": against_ccmm,
    "mnist": against_ccmm_on_digits,
    "million": million,
    "wide": wide,
    "sparse": nearly_empty,
    "imputers": against_imputers,
    "small": small,
    "first": first_fit,
    "many": many,
    "rare": rare,
    "dask": on_dask,
    "growth": grown,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Time and memory on long tables.")
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)} (default: all)")
    parser.add_argument("--sizes", type=int, nargs="*", help="numbers of rows, instead of those of each part")
    parser.add_argument("--threads", type=int, default=2, help="threads of each measurement (default 2)")
    parser.add_argument("--limit", type=int, default=1800, help="seconds allowed per measurement (default 1800)")
    parser.add_argument("--mnist", help="folder with the idx files of MNIST (default: a simulated table)")
    parser.add_argument("--ccmm-python", default=sys.executable, help="an interpreter that can import ccmmpy")
    parser.add_argument("--cpu-limit", type=int, default=0, help="CPU seconds allowed per measurement (default: any)")
    parser.add_argument("--methods", nargs="*", help="methods of growth (default: all)")
    parser.add_argument("--points", help="file that keeps the measurements of growth, to go on from")
    parser.add_argument("--picture", help="file for the picture of growth")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        if options.cpu_limit:
            resource.setrlimit(resource.RLIMIT_CPU, (options.cpu_limit, options.cpu_limit + 5))
        print(json.dumps(measure(*json.loads(options.cell))))
        return
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {sorted(unknown)[0]!r}: choose from {', '.join(PARTS)}")
    run = Run(options)
    for name in options.parts or PARTS:
        PARTS[name](run)


if __name__ == "__main__":
    main()
