"""kill -9 of ``fusewise fit 'part-*.parquet' --scheduler local`` at many moments: results whole, or as before.

The workers that the command has started must end by themselves.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from faulty_runs import Outcomes, _used, environment

from fusewise.datasets import hide_entries, make_clusters

N_PARTS = 3
#: Seconds after which workers that have lost their command must have ended.
PATIENCE = 120
COMMAND = [
    sys.executable, "-m", "fusewise.cli", "fit", "part-*.parquet", "--scheduler", "local", "--out", "out",
    "--save", "m.fusewise",
]  # fmt: skip
RESULTS = (*(f"out/labels/part-{k}.parquet" for k in range(N_PARTS)), "out/centers.csv", "m.fusewise")


def folder_with_parts(path, seed, old=()):
    """A new folder with a table in parts, and with old results."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    X = hide_entries(make_clusters(3, 100, 6, noise=0.1, random_state=seed)[0], 0.2, random_state=seed)
    for k, rows in enumerate(np.array_split(X, N_PARTS)):
        pd.DataFrame(rows, columns=list("abcdef")).to_parquet(path / f"part-{k}.parquet")
    for place, content in dict(old).items():
        (path / place).parent.mkdir(parents=True, exist_ok=True)
        (path / place).write_bytes(content)
    return path


def results_in(folder):
    """What is at the places of the results: name -> bytes."""
    return {name: (folder / name).read_bytes() for name in RESULTS if (folder / name).exists()}


def run(folder, *options, until=np.inf):
    """Run the command, and kill it when it has used so many seconds; whether it was alive, its seconds, its session."""
    with subprocess.Popen(
        [*COMMAND, *options], cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:  # fmt: skip
        used = 0.0
        while process.poll() is None and used < until:
            used = max(used, _used(process.pid))
            time.sleep(0.002)
        process.kill()
        process.wait()
    return process.returncode == -signal.SIGKILL, used, process.pid


def have_ended(session):
    """Whether all processes of a session end within ``PATIENCE``; those that do not are killed."""
    end = time.monotonic() + PATIENCE
    while left := _of_session(session):
        if time.monotonic() > end:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            return False
        time.sleep(0.1)
    return True


def _of_session(session):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, own = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(own) == session and state != "Z":
            found.append(int(stat.parent.name))
    return found


def dask_commands(runs, count):
    """kill -9 of the command, at moments spread evenly over its work, half of them where old results are replaced."""
    base = runs.base / "parts"
    _, seconds, _ = run(folder_with_parts(base, 0))
    whole = results_in(base)
    assert set(whole) == set(RESULTS), "an undisturbed run is not complete"
    run(folder_with_parts(base, 1))
    old = results_in(base)
    found = Outcomes()
    for k, moment in enumerate(np.linspace(0, seconds, count)):
        before = old if k % 2 else {}
        folder = folder_with_parts(base, 0, before)
        alive, _, session = run(folder, *["--force"] * bool(before), until=moment)
        ended = have_ended(session)
        state = _after_a_kill(folder, whole, before) if ended else "workers left"
        found[state + ("" if alive else " (done before the kill)")] += 1
    return found


def _after_a_kill(folder, whole, before):
    """Whether all results are new or as before; or some of them, each whole."""
    content = results_in(folder)
    some = "some new" if content.items() <= (before.items() | whole.items()) else "halves"
    return "new" if content == whole else "as before" if content == before else some
