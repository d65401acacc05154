"""Where the parts of a table are computed: in memory, or on a scheduler of Dask."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from fusewise.kernels import available_memory
from fusewise.observations import dask_library
from fusewise.support.errors import InputError
from fusewise.support.words import in_words

#: Bytes that a table takes in memory for each byte of its files. Measured: 13 for CSV files of numbers with 17 digits,
#: 24 with 4 digits, 16 for Parquet files of random numbers.
IN_MEMORY = 25

#: Schedulers of Dask in this process or beside it, and a cluster of workers on this machine.
SIMPLE, LOCAL = ("threads", "processes", "synchronous"), "local"

#: Seconds in which a scheduler must answer.
PATIENCE = 10

#: Time in which a worker that has died must be back. Dask waits for 15 seconds; on a busy machine a start takes longer,
#: and when all workers are given up a computation waits for ever.
BACK = "10 minutes"

#: Freed bytes that a worker keeps for its next arrays, and the largest array that is taken from them. Dask has workers
#: return freed memory at once, and then each temporary array costs as many page faults as it has pages.
ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": 2**27, "MALLOC_MMAP_THRESHOLD_": 2**25}


def needed_scheduler(asked: str | None, parts: Sequence[Path]) -> str | None:
    """The scheduler asked for, or a local cluster if the parts exceed memory; None: they are read into memory."""
    if asked is not None:
        return asked
    return LOCAL if sum(file.stat().st_size for file in parts) * IN_MEMORY > available_memory() else None


@contextmanager
def scheduling(asked: str) -> Iterator[None]:
    """Compute with ``dask`` on a scheduler: "threads", "processes", "synchronous", "local" or an address.

    Workers of a local cluster end with the block. Without Dask, or if no scheduler answers, it is an ``InputError``.
    """
    try:
        dask, distributed = dask_library(), import_module("distributed")
    except ImportError as error:
        raise InputError('--scheduler needs Dask: pip install "fusewise[dask]"') from error
    if asked in SIMPLE:
        with dask.config.set(scheduler=asked):
            yield
    elif asked == LOCAL:
        with local_cluster():
            yield
    else:
        try:
            client = distributed.Client(asked, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:  # a timeout is an OSError, an address that is none a ValueError
            others = ", ".join((*SIMPLE, LOCAL))
            raise InputError(
                f"--scheduler {asked!r}: no scheduler answers there; give an address such as tcp://host:8786, or one "
                f"of {others}"
            ) from error
        with client, client.as_current():
            yield


@contextmanager
def local_cluster(n_workers: int | None = None, memory_limit: str = "auto") -> Iterator[Any]:
    """A ``distributed.Client`` of workers on this machine, each with one thread; they end with the block.

    Parameters
    ----------
    n_workers : number of processes; None: one for each core.
    memory_limit : of each worker; "auto": its share of the machine's.
    """
    config, distributed = dask_library().config, import_module("distributed")
    setting, n_workers = "distributed.nanny.pre-spawn-environ", n_workers or import_module("dask.system").CPU_COUNT
    own = {"threads_per_worker": 1, "memory_limit": memory_limit, "dashboard_address": "127.0.0.1:0"}
    changed = {setting: {**config.get(setting, {}), **ALLOCATOR}, "distributed.deploy.lost-worker-timeout": BACK}
    with config.set(changed), ExitStack() as stack:
        with _holding_back_ctrl_c():
            cluster = stack.enter_context(distributed.LocalCluster(n_workers=n_workers, **own))
            client = stack.enter_context(distributed.Client(cluster))
            client.run(_ignore_ctrl_c)
        yield client


@contextmanager
def _holding_back_ctrl_c() -> Iterator[None]:
    """Block Ctrl-C until the end of the block: processes that start in it never receive it.

    Every process of a terminal does otherwise, and a worker that is still being started would print a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    resource_tracker.ensure_running()  # a thread that starts it lets Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ignore_ctrl_c() -> None:
    """Leave Ctrl-C on a terminal, which every process receives, to the one that ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def exceeding(parts: Sequence[Path]) -> str:
    """A sentence on parts that exceed memory."""
    size = in_words(sum(file.stat().st_size for file in parts))
    return f"the parts ({size}) would take more than the available memory: a local cluster is used"
