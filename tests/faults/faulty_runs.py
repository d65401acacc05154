"""Runs of ``fusewise fit --out --save --report`` that are disturbed, and what they leave: whole results, or none."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import cached_property
from pathlib import Path

import numpy as np

import fusewise
from fusewise.support import STAGE

#: Places of the results: the tables and the report in a folder of their own, the model beside the table.
RESULTS = ("out/labels.csv", "out/completed.csv", "out/centers.csv", "out/report.html", "m.fusewise")
COMMAND = [sys.executable, "-m", "fusewise.cli", "fit", "t.csv", "--out", "out", "--save", "m.fusewise", "--report"]
SOURCE = str(Path(fusewise.__file__).parent.parent)


def write_table(path, seed):
    """Three clusters with missing entries, and names that are not ASCII."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4)) + 9 * (np.arange(60) % 3)[:, None]
    rows = [",".join([f"é{k}", *("" if rng.random() < 0.1 else f"{x:.3f}" for x in row)]) for k, row in enumerate(X)]
    path.write_text("\n".join(["näme,a,b,c,d", *rows]) + "\n", encoding="utf-8")


def results_in(folder):
    """What is at the places of the results: name -> bytes."""
    return {name: (folder / name).read_bytes() for name in RESULTS if (folder / name).exists()}


def left_over(folder):
    """Temporary folders."""
    return [str(path) for path in folder.rglob(f"{STAGE}*")]


def environment(**changed):
    """The environment of this process, changed; None removes a variable."""
    whole = os.environ | {"PYTHONPATH": SOURCE, "COLUMNS": "100"} | changed
    return {name: value for name, value in whole.items() if value is not None}


class Outcomes(Counter):
    """How often each outcome was seen, printed as they come: a run that is stopped leaves its counts."""

    def __setitem__(self, state, count):
        super().__setitem__(state, count)
        print(f"  {self.total()}: {state}", file=sys.stderr, flush=True)


class Runs:
    """A folder with a table, the results of undisturbed runs, and runs that are disturbed.

    Results of a second table are the old ones where a run is to replace something.
    """

    def __init__(self, base):
        self.base = base

    @cached_property
    def _new(self):
        found, seconds = self._undisturbed("new", 0)
        print(f"an undisturbed run takes {seconds:.1f} s of processor time")
        return found, seconds

    @property
    def whole(self):
        """The results where there were none."""
        return self._new[0]

    @property
    def seconds(self):
        """Processor time of an undisturbed run."""
        return self._new[1]

    @cached_property
    def old(self):
        """The results of the second table."""
        return self._undisturbed("old", 1)[0]

    @cached_property
    def replacing(self):
        """The results where old ones are replaced: the report shows the command."""
        return self._undisturbed("replacing", 0, "--force")[0]

    def _undisturbed(self, name, seed, *more):
        folder = self.base / name
        folder.mkdir()
        write_table(folder / "t.csv", seed)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*COMMAND, *more], cwd=folder, env=environment(), check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = results_in(folder)
        assert set(found) == set(RESULTS), "an undisturbed run is not complete"
        return found, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def folder(self, name, *, old):
        """A new folder with the table, and with old results if asked for."""
        folder = self.base / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write_table(folder / "t.csv", 0)
        for place, content in self.old.items() if old else ():
            (folder / place).parent.mkdir(exist_ok=True)
            (folder / place).write_bytes(content)
        return folder

    def state(self, folder, *, old):
        """What a run has left: "new", "as before", or "some new" where files of both are there, each of them whole."""
        found = results_in(folder)
        whole, before = (self.replacing, self.old) if old else (self.whole, {})
        if found == whole:
            return "new"
        if found == before:
            return "as before"
        return "some new" if found.items() <= (before.items() | whole.items()) else "halves"


def killed_after(command, folder, seconds):
    """Run a command and kill it (-9) when it has used so much processor time; whether it was still running."""
    with subprocess.Popen(
        command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None and _used(process.pid) < seconds:
            time.sleep(0.002)
        process.kill()
        process.wait()
    return process.returncode == -signal.SIGKILL


def _used(pid):
    """Processor seconds of a process, where the system tells; else those on the clock since it was asked first."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic() - _started.setdefault(pid, time.monotonic())
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


_started: dict[int, float] = {}
