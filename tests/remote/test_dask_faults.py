"""Workers that die, tasks that raise and Ctrl-C during a fit on a cluster."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

from fusewise import FusionClustering

pytestmark = pytest.mark.filterwarnings("ignore")


def deadly(block, mark):
    """A block; whoever reads the first is killed (-9), once."""
    if block.size and not os.path.exists(mark):
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block


def test_a_worker_that_dies_changes_nothing(tmp_path, table):
    whole = FusionClustering(random_state=1).fit(table)
    mark = tmp_path / "killed"
    X = da.from_array(table, chunks=(90, 8)).map_blocks(deadly, str(mark), dtype=float, meta=np.empty((0, 0)))
    quick = dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    with quick, LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        model = FusionClustering(random_state=1).fit(X)
        np.testing.assert_array_equal(np.asarray(model.labels_.compute()), whole.labels_)
    np.testing.assert_allclose(model.cluster_centers_, whole.cluster_centers_)
    assert mark.exists()


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


def members(group):
    """The processes of a group, without those that have ended."""
    listed = subprocess.run(["ps", "-eo", "pgid,stat"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in listed[1:] if line.split()[0] == str(group) and not line.split()[1].startswith("Z")]


def test_nothing_is_left_of_a_command_after_ctrl_c(tmp_path, table):
    """On a terminal every process of the group receives it."""
    (tmp_path / "parts").mkdir()
    for k in range(4):
        pd.DataFrame(np.tile(table, (200, 1)), columns=list("abcdefgh")).to_parquet(tmp_path / f"parts/{k}.parquet")
    command = [sys.executable, "-m", "fusewise.cli", "fit", "parts", "--scheduler", "local"]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True, text=True
    ) as process:
        end = time.monotonic() + 60
        while len(members(process.pid)) < 3 and process.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr.read().endswith("fusewise: interrupted; nothing was written\n")
    assert process.returncode == 130
    end = time.monotonic() + 10
    while members(process.pid) and time.monotonic() < end:
        time.sleep(0.1)
    assert not members(process.pid)
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


PATIENT = """
import os
import signal
import dask
from fusewise.cli._parts import local_cluster
if __name__ == "__main__":
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1 ms"})  # no worker is back so soon
    with local_cluster(1) as client:
        [pid] = client.run(os.getpid).values()
        os.kill(pid, signal.SIGKILL)
        print(client.submit(os.getpid, pure=False).result(timeout=100) not in (pid, os.getpid()))
"""


def test_a_worker_that_is_back_late_goes_on():
    """As on a busy machine, where it takes more than the 15 seconds after which Dask gives it up."""
    done = subprocess.run([sys.executable, "-c", PATIENT], capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr
