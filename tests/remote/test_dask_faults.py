"""Workers that die, tasks that raise and Ctrl-C during a fit on a cluster."""

import os
import signal
import threading
import time

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from fusewise import FusionClustering

pytestmark = pytest.mark.filterwarnings("ignore")


class Deadly:
    """Blocks of a table; reading them for the 2nd, 6th, 10th and 14th time kills the worker that does it."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __call__(self, block):
        if block.size:
            for number in range(1000):
                try:
                    os.close(os.open(os.path.join(self.folder, f"{number}"), os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                break
            if number in (1, 5, 9, 13):
                os.kill(os.getpid(), signal.SIGKILL)
        return block


def test_workers_that_die_change_nothing(tmp_path, table):
    """A pass reads four blocks, and again those that a worker held when it died: four die in the first passes."""
    whole = FusionClustering(random_state=1).fit(table)
    X = da.from_array(table, chunks=(90, 8)).map_blocks(Deadly(tmp_path), dtype=float, meta=np.empty((0, 0)))
    with LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        model = FusionClustering(random_state=1).fit(X)
        np.testing.assert_array_equal(model.labels_.compute(), whole.labels_)
    assert len(list(tmp_path.iterdir())) >= 4 * 4 + 4


@pytest.fixture
def client():
    with Client(processes=False, dashboard_address=None, n_workers=1, threads_per_worker=2) as client:
        yield client


def idle(client, seconds=10):
    """Whether the workers have nothing to do, before so many seconds have passed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not any(client.processing().values()):
            return True
        time.sleep(0.05)
    return False


def test_an_error_names_the_block_and_ends_the_rest(client, table):
    X = table.copy()
    X[300, 0] = np.inf
    with pytest.raises(ValueError, match="block 3 of 4, from 0: Input X contains infinity"):
        FusionClustering().fit(da.from_array(X, chunks=(90, 8)))
    assert idle(client)


BEGAN = threading.Event()


def slow(block):
    """A block that takes a while; of the module, so that it is sent by name and finds the event."""
    BEGAN.set()
    time.sleep(0.2)
    return block


def test_nothing_runs_after_ctrl_c(client):
    X = da.random.random((100 * 100, 3), chunks=(100, 3)).map_blocks(slow, dtype=float, meta=np.empty((0, 0)))

    def interrupt():
        if BEGAN.wait(20):
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            FusionClustering().fit(X)
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert idle(client, 5)  # the 100 blocks would have taken ten seconds
