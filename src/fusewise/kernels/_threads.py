"""Threads for work that releases Python's global lock: matrix products and compiled loops."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")

#: Multiplications that are worth a thread: about a millisecond, ten times what it takes to hand them over.
WORTH_A_THREAD = 2**21
#: Ranges that each thread works on, one after another, since items differ.
RANGES = 4
#: No more threads than this are started.
MOST_THREADS = 256

#: Threads that ``in_threads`` may use within ``small_products``; other threads than the one that entered it see none.
_threads: ContextVar[int] = ContextVar("threads", default=0)


#: Tasks within ``one_thread``, and the limit that the first of them has set.
_limiting, _limited = Lock(), 0
_limit: Any = None


def in_threads(work: Callable[[T], R], items: Sequence[T], most: int | None = None) -> Iterator[R]:
    """``map(work, items)``, on as many threads as a matrix product may use, or at most `most`.

    At most as many items as there are threads are begun ahead of the results that were asked for, so that stopping
    early wastes little work. When the iteration ends, for whatever reason, no item is still being worked on.
    """
    threads = min(n_threads(), len(items), most or len(items))
    if threads <= 1:
        yield from map(work, items)
        return
    begun: deque[Future[R]] = deque()
    alone = nullcontext() if _threads.get() else _blas().limit(limits=1)  # within `small_products` they are limited
    with alone:
        pool = _pool(os.getpid())

        def first() -> R:
            result = begun[0].result()  # Ctrl-C comes here: the item is still among those begun
            begun.popleft()
            return result

        try:
            for item in items:
                begun.append(pool.submit(work, item))
                if len(begun) == threads:
                    yield first()
            while begun:
                yield first()
        finally:
            wait([future for future in begun if not future.cancel()])


def in_ranges(n: int, work: int, loop: Callable[[int, int], None]) -> None:
    """Run a loop over 0 ... n, in threads where there is enough work (multiplications per item)."""
    threads = threads_for(n * work)
    if threads == 1:
        loop(0, n)
        return
    parts = min(n, RANGES * threads)
    cuts = [n * k // parts for k in range(parts + 1)]
    for _ in in_threads(lambda ends: loop(*ends), list(pairwise(cuts)), threads):
        pass


def threads_for(work: int) -> int:
    """Number of threads worth using for this many multiplications."""
    worth = work // WORTH_A_THREAD
    return min(worth, n_threads()) if worth > 1 else 1


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """The threads, started as they are needed and kept: starting them takes longer than many a loop.

    In each of them matrix products and ``in_threads`` use one thread. A forked process starts its own.
    """
    return ThreadPoolExecutor(MOST_THREADS, "fusewise", _threads.set, (1,))


@contextmanager
def small_products() -> Iterator[None]:
    """One thread for each matrix product and each loop of OpenMP, and for ``in_threads`` as many as before.

    Threads that share little work spend their time waiting for each other, and on a busy machine most of it.
    """
    token = _threads.set(n_threads())
    try:
        with _pools().limit(limits=1):
            yield
    finally:
        _threads.reset(token)


@contextmanager
def single_products() -> Iterator[None]:
    """One thread for each matrix product, and in other threads than this one for ``in_threads`` as well."""
    with _blas().limit(limits=1):
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for everything, where many tasks are run side by side, in this process or in others.

    Limits of matrix products hold for the whole process: the first task sets them, the last to end lifts them.
    """
    global _limited, _limit
    token = _threads.set(1)
    with _limiting:
        if _limited == 0:
            _limit = _blas().limit(limits=1)
        _limited += 1
    try:
        yield
    finally:
        with _limiting:
            _limited -= 1
            if _limited == 0:
                _limit.restore_original_limits()
        _threads.reset(token)


def n_threads() -> int:
    """How many threads a matrix product may use (outside of ``small_products``)."""
    return _threads.get() or max((library["num_threads"] for library in _blas().info()), default=1)


@cache
def _pools() -> ThreadpoolController:
    """The libraries with threads of their own (BLAS and OpenMP), found once: looking for them takes milliseconds."""
    return ThreadpoolController()


@cache
def _blas() -> ThreadpoolController:
    """Those that multiply matrices."""
    return _pools().select(user_api="blas")
