"""Loops that Numba compiles when they are first needed, the time that takes, and the threads that they run in.

Every compiled loop of the library is made by ``compiled``. Numba is imported at the first call of one, compiles it and
keeps the result on disk for the next process; where there is no folder to write to, each process compiles anew. Loops
over few items are not worth that: see ``SMALL``. Threads serve work that releases Python's global lock: matrix products
and compiled loops.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property, partial, update_wrapper
from importlib import import_module
from itertools import pairwise
from threading import Lock, RLock
from types import FunctionType
from typing import Any, TypeVar, overload

from threadpoolctl import ThreadpoolController

from fusewise.progress import Progress
from fusewise.support import Dims, NumberArray

#: The stage that progress reports while loops are compiled.
STAGE = "compiling (first run only)"

#: Items (rows, patterns, matrices) up to which NumPy or plain Python does a loop's work: there it takes milliseconds,
#: compiling takes seconds.
SMALL = 400

#: Seconds of processor time for which a loop may be interpreted in one process before it is compiled. (Those on the
#: clock would depend on what else the machine does.)
PATIENCE = 1.0

#: Sums may be taken in any order, so that they run on vector units; nothing else is relaxed.
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}

_lock = RLock()
_told: list[Progress] = []


def raise_interruption(error: SystemError) -> None:
    """Raise the interruption that made an error, if one did: Ctrl-C while a compiled loop returns its result."""
    cause = error.__cause__
    while isinstance(cause, SystemError):  # one for each function that returned with it
        cause = cause.__cause__
    if cause is not None and not isinstance(cause, Exception):
        raise cause from None


class Loop:
    """A function that runs compiled when it is called.

    `shapes`, those of its arguments, ``("r r U", "N", "")``, are checked when Python calls it, as compiled code checks
    no bounds. An empty one is not an array, and a loop without shapes is called by other loops only.
    """

    def __init__(self, function: Callable[..., Any], shapes: Sequence[str] | None = None, **options: Any) -> None:
        self.function: Any = function
        rules = None if shapes is None else [NumberArray(*shape.split(), kinds="fciubV") for shape in shapes]
        self.rules = rules  # without dimensions: not an array
        self.options = OPTIONS | options
        self._interpreted = 0.0
        self._checked: list[Any] = []
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Run it compiled, on arrays of the shapes that it needs."""
        if self.rules is None:
            raise TypeError(f"{self.function.__name__} has no shapes: it is called by other loops only")
        # Loops are called thousands of times with the same shapes, small ones in less time than checking these takes.
        given = [getattr(argument, "shape", None) for argument in arguments]
        if given != self._checked:
            dims: Dims = {}
            for k, (rule, argument) in enumerate(zip(self.rules, arguments, strict=True)):
                if rule.dims:
                    rule.check(argument, f"{self.function.__name__}: argument {k}", dims, contents=False)
            self._checked = given
        try:
            return self.fast(*arguments)
        except SystemError as error:
            raise_interruption(error)
            raise

    def in_ranges(self, n: int, work: int, *arguments: Any) -> None:
        """Run it over ranges of 0 ... n, whose ends it takes last, in threads if there is enough work for each item."""
        in_ranges(n, work, lambda begin, end: self(*arguments, begin, end))

    @cached_property
    def fast(self) -> Any:
        """The same for Numba to compile, as are the loops that it calls."""
        with _lock:
            if "fast" in self.__dict__:  # another thread was quicker
                return self.__dict__["fast"]
            numba, function = _watch.numba(), self._calling("fast")
            try:
                return numba.njit(cache=True, **self.options)(function)
            except RuntimeError:  # there is no folder to keep it in
                return numba.njit(**self.options)(function)

    @cached_property
    def plain(self) -> Callable[..., Any]:
        """The same for Python to run, as are the loops that it calls."""
        return self._calling("plain")

    @property
    def hot(self) -> bool:
        """Whether it is compiled, or has been interpreted for so long that it had better be."""
        return "fast" in self.__dict__ or self._interpreted > PATIENCE

    def interpret(self, *arguments: Any) -> Any:
        """Run it as plain Python; lists are quicker to index than arrays there."""
        begin = time.thread_time()
        try:
            return self.plain(*arguments)
        finally:
            self._interpreted += time.thread_time() - begin

    def _calling(self, kind: str) -> Callable[..., Any]:
        """A copy of the function that calls other loops by one of their two forms."""
        code, known = self.function.__code__, self.function.__globals__
        called = {name: known[name] for name in code.co_names if isinstance(known.get(name), Loop)}
        return FunctionType(code, known | {name: getattr(loop, kind) for name, loop in called.items()})


@overload
def compiled(function: Callable[..., Any], /) -> Loop: ...
@overload
def compiled(**options: Any) -> Callable[[Callable[..., Any]], Loop]: ...
def compiled(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorate a loop over arrays, with its shapes, and options of ``numba.njit`` that differ from ``OPTIONS``."""
    return partial(Loop, **options) if function is None else Loop(function, **options)


class _Watch:
    """Listens to Numba: seconds this process has spent importing it and compiling.

    There is one per process: Numba keeps its listeners for good, and two would report every loop twice.
    """

    def __init__(self) -> None:
        self.importing, self.compiling, self.loops = 0.0, 0.0, 0
        self.at_hand = False  # whether this process has begun to compile
        self._depth, self._begin = 0, 0.0
        self._numba: Any = None

    def numba(self) -> Any:
        """Import Numba, and note that compiled loops are available from now on."""
        if self._numba is None:
            begin = time.perf_counter()
            self._numba, event = import_module("numba"), import_module("numba.core.event")
            listener = type("Listener", (event.Listener,), {"on_start": self._on_start, "on_end": self._on_end})
            event.register("numba:compile", listener())
            self.importing = time.perf_counter() - begin
        self.at_hand = True
        return self._numba

    # Numba compiles one loop at a time, and those that it calls within.
    def _on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._begin = time.perf_counter()
            self.loops += 1
            for progress in _told[-1:]:
                progress(STAGE, self.loops)
        self._depth += 1

    def _on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.compiling += time.perf_counter() - self._begin


_watch = _Watch()


def few(n: int) -> bool:
    """Whether NumPy or plain Python had better do the work of a loop over n items.

    They do until this process begins to compile loops, or to load compiled ones: after that, compiled loops are
    several times as fast as NumPy even for few items.
    """
    return n <= SMALL and not _watch.at_hand


@contextmanager
def announcing(progress: Progress) -> Iterator[None]:
    """Report every loop that is compiled in this context, in whichever thread."""
    _told.append(progress)
    try:
        yield
    finally:
        _told.remove(progress)


class Stopwatch:
    """Seconds since it was made: of compiling loops, and of other work (importing the compiler is neither)."""

    def __init__(self) -> None:
        self._begin, self._compiled, self._imported = time.perf_counter(), _watch.compiling, _watch.importing

    @property
    def compiling(self) -> float:
        """Seconds spent on loops that had to be compiled."""
        return _watch.compiling - self._compiled

    @property
    def working(self) -> float:
        """Seconds of the computation itself."""
        return time.perf_counter() - self._begin - self.compiling - (_watch.importing - self._imported)


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

#: Tasks that need matrix products on one thread, and the limit that the first of them has set.
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
    with _products_limited():
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
def _products_limited() -> Iterator[None]:
    """One thread for each matrix product and each loop of OpenMP.

    The limit holds for the whole process: the first task sets it, the last to end lifts it.
    """
    global _limited, _limit
    with _limiting:
        if _limited == 0:
            _limit = _pools().limit(limits=1)
        _limited += 1
    try:
        yield
    finally:
        with _limiting:
            _limited -= 1
            if _limited == 0:
                _limit.restore_original_limits()


@contextmanager
def small_products(threads: int | None = None) -> Iterator[None]:
    """One thread for each matrix product, and `threads` for ``in_threads``: as many as before, or 1 beside other tasks.

    Threads that share little work spend their time waiting for each other, and on a busy machine most of it.
    """
    token = _threads.set(threads or n_threads())
    try:
        with _products_limited():
            yield
    finally:
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
