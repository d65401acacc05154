"""What several tests share, and what holds of all of them: they leave nothing behind, and say what was skipped."""

import os
import signal
import sys

import numpy as np
import pytest

from fusewise.kernels import _compiling as compiling
from fusewise.kernels import placement
from skipped import what_to_get

#: More processes than this gain little: each compiles, and keeps the fixtures of a session, for itself.
MOST_WORKERS = 4
#: What tells libraries, and the processes that tests start, how many threads to use.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
#: How the names of variables begin that change what Fusewise does.
OURS = ("FUSEWISE", "NUMBA", *THREADS)


@pytest.fixture(params=["cpu", "torch"])
def place(request):
    """The way to where arrays are worked on: nowhere else, and torch."""
    if request.param == "torch":
        pytest.importorskip("torch")
    return placement(request.param)


def shared_state(known=None):
    """What a test could change for those after it.

    Libraries set variables of the environment when they are first imported: of those that were not `known` before,
    only ours and Numba's count.
    """
    event = sys.modules.get("numba.core.event")
    return {
        "environment": {
            name: value
            for name, value in os.environ.items()
            if name != "PYTEST_CURRENT_TEST" and (known is None or name in known or name.startswith(OURS))
        },
        "working folder": os.getcwd(),
        "floating-point errors": np.geterr(),
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
        "listeners to progress": list(compiling._told),
        # The first loop that is compiled brings one, which stays.
        "listeners to Numba": len(event._registered["numba:compile"]) > 1 if event else False,
    }


@pytest.fixture(autouse=True)
def _nothing_left_behind():
    """Tests pass in any order: the one that would break another fails itself."""
    before = shared_state()
    yield
    after = shared_state(known=before["environment"])
    changed = [name for name in before if before[name] != after[name]]
    # Names only: values in an environment may be secrets, and what fails is printed to logs.
    variables = sorted({name for name, _ in before.pop("environment").items() ^ after.pop("environment").items()})
    if changed:
        pytest.fail(f"the test left changed: {', '.join(changed)} {variables or ''}".rstrip(), pytrace=False)


def n_cores():
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist, which is not everywhere
def pytest_xdist_auto_num_workers():
    """`-n auto`: as many as there are cores, within reason."""
    return min(n_cores(), MOST_WORKERS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs):
    """Let the processes that are about to start share the cores; tests of threads ask for theirs by themselves."""
    for name in THREADS:
        os.environ.setdefault(name, str(max(1, n_cores() // len(specs))))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """After everything else, what to install in order to run what was skipped."""
    yield
    skips = [
        (str(report.longrepr[2]), isinstance(report, pytest.CollectReport))
        for report in terminalreporter.stats.get("skipped", [])
    ]
    for line in what_to_get(skips):
        terminalreporter.write_line(line)
