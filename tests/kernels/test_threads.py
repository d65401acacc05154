"""Threads for work that lets go of Python's lock."""

import os
import signal
import threading
import time
from concurrent.futures import Future

import numpy as np
import pytest

from fusewise.kernels import in_ranges, in_threads, small_products, threads_for
from fusewise.kernels._compiling import WORTH_A_THREAD, _blas, n_threads


def widths():
    return {library["num_threads"] for library in _blas().info()}


@pytest.fixture
def three():
    with _blas().limit(limits=3):
        if n_threads() != 3:
            pytest.skip("matrix products run on one thread here")
        yield


def test_little_is_begun_ahead(three):
    begun = []
    for result in in_threads(lambda x: begun.append(x) or x, list(range(20))):
        assert len(begun) <= result + 3
        if result == 4:
            break
    assert max(begun) <= 7


def test_errors_come_through(three):
    with pytest.raises(ZeroDivisionError):
        list(in_threads(lambda x: 1 / x, [1, 0, 2]))
    assert n_threads() == 3


def test_small_products_take_a_thread_each_and_leave_the_others_to_work(three):
    meeting = threading.Barrier(3, timeout=30)  # met only if three items are worked on at the same time
    with small_products():
        assert widths() == {1}
        assert n_threads() == 3
        seen = list(in_threads(lambda _: (meeting.wait(), n_threads())[1], [0, 1, 2]))
    assert seen == [1, 1, 1]  # no threads within threads
    assert widths() == {3}
    assert n_threads() == 3


def test_threads_in_proportion_to_the_work(three):
    """A thread for each ``WORTH_A_THREAD``; ranges cover all items once."""
    assert [threads_for(k * WORTH_A_THREAD) for k in range(5)] == [1, 1, 2, 3, 3]
    found = np.zeros(50, int)

    def loop(begin, end):
        found[begin:end] += 1

    for work in (0, WORTH_A_THREAD // 20, WORTH_A_THREAD):
        in_ranges(50, work, loop)
    assert (found == 3).all()


def test_what_was_begun_has_ended(three):
    """Whoever breaks off finds nobody at work on his arrays."""
    working, release = [], threading.Event()

    def work(k):
        if k:
            release.wait(30)
        working.append(k)
        return k

    results = in_threads(work, range(20))
    assert next(results) == 0
    threading.Timer(0.1, release.set).start()
    results.close()
    ended = list(working)
    assert 1 in ended
    time.sleep(0.1)
    assert working == ended


def test_ctrl_c_waits_for_the_item_that_was_waited_for(three, monkeypatch):
    """It comes while a result is awaited: whoever catches it finds nobody at work."""
    begun, ended, working = [], [], threading.Event()

    def work(k):
        begun.append(k)
        working.set()
        time.sleep(0.2)
        ended.append(k)

    def interrupted(future):
        assert working.wait(30)
        raise KeyboardInterrupt

    monkeypatch.setattr(Future, "result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(in_threads(work, range(3)))
    assert 0 in ended
    assert sorted(ended) == sorted(begun)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(three):
    assert list(in_threads(lambda k: k, range(6))) == list(range(6))
    child = os.fork()
    if not child:
        os._exit(0 if list(in_threads(lambda k: k, range(6))) == list(range(6)) else 1)
    end = time.monotonic() + 30
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
        time.sleep(0.02)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
    assert ended == (child, 0)
