"""kill -9 of the client or of a worker at many moments of a fit on a Dask cluster: the model is whole, or as before.

The cluster is made once; clients are forked from a process that has imported everything.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context

import numpy as np
from faulty_runs import Outcomes, _used

import fusewise
from fusewise.datasets import hide_entries, make_clusters

#: A cluster or a client that does not come to rest in this many times what it took to start the workers and to fit
#: undisturbed, on the clock and at that moment, is a failure: a busy machine is none.
PATIENCE = 20
N_WORKERS = 2


def table(seed):
    """Three clusters with missing entries."""
    return hide_entries(make_clusters(3, 100, 6, noise=0.1, random_state=seed)[0], 0.2, random_state=seed)


def fit_and_save(address, path, seed):
    """What a client does: fit a table in blocks on the cluster, and save the model."""
    import dask.array as da
    from distributed import Client

    with Client(address):
        blocks = da.from_array(table(seed), chunks=(30, 6)).map_blocks(_slowly, dtype=float, meta=np.empty((0, 0)))
        fusewise.FusionClustering().fit(blocks).save(path)


def _slowly(block):
    """A block that takes a moment to read, so that workers are killed while they work."""
    time.sleep(0.01)
    return block


class Cluster:
    """Two workers, and clients that fit a table there and save the model to a file."""

    def __init__(self, cluster, folder, begin):
        self.cluster, self.folder = cluster, folder
        self.starting, self.fitting = time.monotonic() - begin, 0.0
        self.context = get_context("forkserver")
        self.context.set_forkserver_preload(["fusewise.estimators", "fusewise.saving", "dask.array", "distributed"])
        self.new, self.seconds = self._undisturbed(0)
        self.old, _ = self._undisturbed(1)

    def _undisturbed(self, seed):
        path = self.folder / f"undisturbed-{seed}"
        begin, client, used = time.monotonic(), self.client(path, seed), 0.0
        while client.is_alive():
            used = max(used, _used(client.pid))
            time.sleep(0.002)
        assert client.exitcode == 0, "an undisturbed fit failed"
        self.fitting = max(self.fitting, time.monotonic() - begin)
        return path.read_bytes(), used

    @property
    def patience(self):
        """Seconds on the clock after which something is wrong."""
        return PATIENCE * (self.starting + self.fitting)

    def all_at_work(self):
        """Wait until all workers are there, also those started in the place of killed ones; whether they are."""
        begin, nannies = time.monotonic(), self.cluster.workers
        while len(self.cluster.scheduler.workers) < N_WORKERS or not all(nanny.pid for nanny in nannies.values()):
            if time.monotonic() - begin > self.patience:
                return False
            time.sleep(0.05)
        self.starting = max(self.starting, time.monotonic() - begin)  # the machine may be busier than at first
        return True

    def client(self, path, seed=0):
        """Start a client."""
        process = self.context.Process(target=fit_and_save, args=(self.cluster.scheduler_address, path, seed))
        process.start()
        return process

    def place(self, *, old):
        """A file to save to, with an old model if asked for."""
        path = self.folder / "model"
        path.unlink(missing_ok=True)
        if old:
            path.write_bytes(self.old)
        return path

    def state(self, path, *, old):
        """What is at the place of the model, and whether the cluster came to rest."""
        end = time.monotonic() + self.patience
        while self.cluster.scheduler.tasks or self.cluster.scheduler.clients.keys() - {"fire-and-forget"}:
            if time.monotonic() > end:
                return "tasks left on the cluster"
            time.sleep(0.05)
        content = path.read_bytes() if path.exists() else None
        if content == self.new and np.array_equal(fusewise.load(path).predict(table(0)), self.labels):
            return "new"
        return "as before" if content == (self.old if old else None) else "halves"

    @property
    def labels(self):
        """The clusters of the table in memory, which is fitted the same."""
        if "_labels" not in vars(self):
            self._labels = fusewise.FusionClustering().fit(table(0)).labels_
        return self._labels


@contextmanager
def cluster_in(folder):
    """A cluster of processes, as ``fit --scheduler local`` has it."""
    from fusewise.cli._parts import local_cluster

    folder.mkdir(exist_ok=True)
    begin = time.monotonic()
    with local_cluster(N_WORKERS) as client:
        cluster = client.cluster
        client.close()  # only those that are killed are waited for
        yield Cluster(cluster, folder, begin)


def moments(own, count):
    """Clients at work, each at another moment, and the states of their results; every other one has old results."""
    for k, moment in enumerate(np.linspace(0, own.seconds, count)):
        assert own.all_at_work(), "a worker that was killed is not back"
        old = bool(k % 2)
        path = own.place(old=old)
        client = own.client(path)
        while client.is_alive() and _used(client.pid) < moment:
            time.sleep(0.002)
        yield client, partial(own.state, path, old=old)


def dask_clients(runs, count):
    """kill -9 of the client, at moments spread evenly over its work."""
    found = Outcomes()
    with cluster_in(runs.base / "dask") as own:
        for client, state in moments(own, count):
            client.kill()
            client.join()
            done = "" if client.exitcode == -signal.SIGKILL else " (done before the kill)"
            found[state() + done] += 1
    return found


def dask_workers(runs, count):
    """kill -9 of a worker; the other one, and the one that is started in its place, do its work: all are new."""
    found = Outcomes()
    with cluster_in(runs.base / "dask") as own:
        for k, (client, state) in enumerate(moments(own, count)):
            done = "" if client.is_alive() else " (done before the kill)"
            os.kill(list(own.cluster.workers.values())[k % N_WORKERS].pid, signal.SIGKILL)
            client.join(own.patience)
            if client.is_alive():
                client.kill()
                client.join()
            found[state() + done if client.exitcode == 0 else f"{state()}, exit code {client.exitcode}"] += 1
    return found
