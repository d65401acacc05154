"""Threads for work that lets go of Python's lock."""

import threading

import pytest

from fusewise.kernels.threads import WORTH_THREADS, _blas, each_of, in_threads, n_threads, small_products


def widths():
    return {library["num_threads"] for library in _blas().info()}


@pytest.fixture
def three():
    with _blas().limit(limits=3):
        if n_threads() != 3:
            pytest.skip("matrix products run on one thread here")
        yield


def test_results_come_in_order():
    assert list(in_threads(lambda x: x * x, list(range(20)))) == [x * x for x in range(20)]


def test_little_is_begun_ahead(three):
    begun = []
    for result in in_threads(lambda x: begun.append(x) or x, list(range(20))):
        assert len(begun) <= result + 3
        if result == 4:
            break
    assert max(begun) <= 7


@pytest.mark.parametrize("work", [0, WORTH_THREADS], ids=["little", "much"])
def test_each_of_some_tasks(three, work):
    used = set()

    def task(k):
        used.add(threading.current_thread() is threading.main_thread())
        return k * k

    assert each_of(5, work, task) == [0, 1, 4, 9, 16]
    assert used == {work == 0}


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


def test_small_products_end_with_an_error_too(three):
    with pytest.raises(KeyError), small_products():
        raise KeyError
    assert widths() == {3}


def test_no_more_threads_than_asked_for(three):
    with small_products():
        names = list(in_threads(lambda _: threading.current_thread().name, list(range(20)), most=1))
    assert set(names) == {threading.current_thread().name}
