"""Where the blocks of a Dask table are computed: workers of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Freed bytes that a worker keeps for its next arrays, and the largest array that is taken from them. Dask has workers
#: return freed memory at once, and then each temporary array costs as many page faults as it has pages.
ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": 2**27, "MALLOC_MMAP_THRESHOLD_": 2**25}


@contextmanager
def local_cluster(n_workers: int | None = None, memory_limit: str = "auto") -> Iterator[Any]:
    """A ``distributed.Client`` of workers on this machine, each with one thread; they end with the block.

    Parameters
    ----------
    n_workers : number of processes; None: one for each core.
    memory_limit : of each worker; "auto": its share of the machine's.
    """
    import dask
    from dask.system import CPU_COUNT
    from distributed import Client, LocalCluster

    setting = "distributed.nanny.pre-spawn-environ"
    with (
        dask.config.set({setting: {**dask.config.get(setting, {}), **ALLOCATOR}}),
        LocalCluster(
            n_workers or CPU_COUNT, threads_per_worker=1, memory_limit=memory_limit, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
