"""A table of Dask that is longer than memory, on a ``LocalCluster``: the measurements of ``scale.py dask``."""

from __future__ import annotations

import resource
import time
from functools import partial
from typing import Any

import numpy as np

#: Rows of a block: 40 MB of ten columns.
BLOCK = 500_000
#: Blocks, the first ones, whose labels are compared with the truth.
SCORED = 20
#: Memory of a worker.
MEMORY = "2GiB"

CLUSTERS, COLUMNS, NOISE, HIDDEN = 20, 10, 0.05, 0.3


def lazy_clusters(n: int, block: int = BLOCK, seed: int = 0) -> tuple[Any, Any]:
    """Gaussian clusters as in ``scale.clusters``, and their labels, generated where and whenever a block is needed."""
    import dask.array as da

    centers = np.random.default_rng(seed).uniform(size=(CLUSTERS, COLUMNS))
    lengths = (block,) * (n // block) + ((n % block,) if n % block else ())
    rows = partial(_rows, lengths=lengths, centers=centers, seed=seed)
    X = da.map_blocks(rows, chunks=(lengths, (COLUMNS,)), dtype=float, meta=np.empty((0, 0)))
    y = da.map_blocks(partial(_labels, lengths=lengths, seed=seed), chunks=(lengths,), dtype=int, meta=np.empty(0, int))
    return X, y


def _rows(block_id: tuple[int, int], lengths: tuple[int, ...], centers: np.ndarray, seed: int) -> np.ndarray:
    rng, y = _random(block_id[0], lengths, seed)
    X = rng.standard_normal((len(y), COLUMNS))
    X *= NOISE
    X += centers[y]
    X[rng.random(X.shape, np.float32) < HIDDEN] = np.nan
    return X


def _labels(block_id: tuple[int], lengths: tuple[int, ...], seed: int) -> np.ndarray:
    return _random(block_id[0], lengths, seed)[1]


def _random(block: int, lengths: tuple[int, ...], seed: int) -> tuple[np.random.Generator, np.ndarray]:
    rng = np.random.default_rng([seed, block])
    return rng, rng.integers(CLUSTERS, size=lengths[block])


def on_cluster(n: int, workers: int, scored: bool = True) -> dict[str, Any]:
    """Fit n rows on a cluster of this machine; seconds, CPU seconds, memory, passes and adjusted Rand index.

    A pass that only generates the blocks is timed as well: a fit generates them again in each of its passes. The score
    is that of the first `SCORED` blocks, whose labels are computed after the clock has stopped.
    """
    from fusewise import FusionClustering
    from fusewise.cli._parts import local_cluster

    with local_cluster(workers, MEMORY) as client:
        FusionClustering().fit(lazy_clusters(40_000, 5_000)[0])  # each worker loads its compiled code
        X, y = lazy_clusters(n)
        result: dict[str, Any] = {"generating": _timed(lambda: X.map_blocks(_size, dtype=int).sum().compute())[0]}
        spent, passes = _cpu(client), _Passes()
        with passes:
            result["seconds"], model = _timed(lambda: FusionClustering().fit(X))
        result["cpu"], result["passes"] = _cpu(client) - spent, passes.seconds
        result["found"], result["blocks"] = model.n_clusters_, X.numblocks[0]
        if scored:
            of = slice(min(SCORED, result["blocks"]))
            result["ari"] = _rand_index(model.labels_.blocks[of], y.blocks[of], model.n_clusters_)
        result["workers"] = sorted(client.run(_peak).values())
        result["client"] = result["peak"] = _peak()
    return result


class _Passes:
    """Seconds of each pass over the blocks of a fit."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __enter__(self) -> None:
        from fusewise.observations import _dask

        self.module, self.compute = _dask, _dask.compute
        _dask.compute = self

    def __exit__(self, *error: object) -> None:
        self.module.compute = self.compute

    def __call__(self, tasks: Any) -> Any:
        seconds, found = _timed(lambda: self.compute(tasks))
        self.seconds.append(seconds)
        return found


def _timed(work: Any) -> tuple[float, Any]:
    begin = time.perf_counter()
    found = work()
    return time.perf_counter() - begin, found


def _size(block: np.ndarray) -> np.ndarray:
    return np.full((1, 1), block.size)


def _cpu(client: Any) -> float:
    return time.process_time() + sum(client.run(time.process_time).values())


def _peak() -> float:
    """Largest resident size of this process, GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _rand_index(labels: Any, y: Any, n_found: int) -> float:
    """Adjusted Rand index of lazy labels, from the numbers of rows in both, block by block."""
    import dask

    from fusewise.observations import merged

    count = dask.delayed(partial(_counted, n_found=n_found), pure=False)
    blocks = zip(labels.to_delayed(), y.to_delayed(), strict=True)
    table = merged([count(*both) for both in blocks], np.add).astype(object)  # numbers of pairs exceed 64 bits
    same, ours, truth = ((c * (c - 1) // 2).sum() for c in (table, table.sum(axis=0), table.sum(axis=1)))
    n = int(table.sum())
    expected = ours * truth / (n * (n - 1) // 2)
    return float((same - expected) / ((ours + truth) / 2 - expected))


def _counted(labels: np.ndarray, y: np.ndarray, n_found: int) -> np.ndarray:
    """Rows of each true cluster (rows) and of each that was found, outliers first (columns)."""
    both = y * (n_found + 1) + labels + 1
    return np.bincount(both, minlength=CLUSTERS * (n_found + 1)).reshape(CLUSTERS, -1)
