"""Faults by hand: ``python -m tests.faults [--kills 100] [--only kills,renames,disk,...]``.

Runs ``fusewise fit --out --save --report`` on a small table, disturbs it, and prints how
often the results were new (all of the files), as before (none of them), or something else, which is a failure.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from dying import IMPORTED, die_at
from faulty_runs import COMMAND, SOURCE, Outcomes, Runs, environment, killed_after, left_over

#: After a kill files of both runs may be there; without one all of them are new or none.
GOOD = {"new", "as before"}
AFTER_A_KILL = GOOD | {"some new"}


def kills(runs, count):
    """kill -9 at moments spread evenly over the run, half of them where old results are replaced."""
    found = Outcomes()
    for k, moment in enumerate(np.linspace(0, runs.seconds, count)):
        old = bool(k % 2)
        folder = runs.folder("killed", old=old)
        alive = killed_after(COMMAND + ["--force"] * old, folder, moment)
        found[runs.state(folder, old=old) + ("" if alive else " (done before the kill)")] += 1
    return found


def renames(runs, count):
    """kill -9 between each change of a folder and the next, which moments taken by chance would seldom meet."""
    found, context = Outcomes(), get_context("forkserver")
    context.set_forkserver_preload(list(IMPORTED))
    for old in (False, True):
        number, alive = 0, True
        while alive:
            number += 1
            folder = runs.folder("killed", old=old)
            process = context.Process(target=die_at, args=(number, [*COMMAND[3:], *["--force"] * old], folder))
            process.start()
            process.join()
            alive = process.exitcode == -signal.SIGKILL
            found[runs.state(folder, old=old) + ("" if alive else " (done before the kill)")] += 1
    return found


def disk(runs, count):
    """A full disk: a file system of 10 sizes, from nearly nothing to nearly enough (in a namespace; Linux)."""
    needed = sum(map(len, runs.whole.values())) + sum(map(len, runs.old.values()))
    found = Outcomes()
    for k, share in enumerate(np.linspace(0.02, 0.98, 10)):
        old = bool(k % 2)
        folder = runs.folder("full", old=old)
        size = int(sum(map(len, runs.old.values())) * old + (needed - sum(map(len, runs.old.values()))) * share)
        small = runs.base / "small"
        small.mkdir(exist_ok=True)
        shell = (
            f"mount -t tmpfs -o size={size + 65536} none '{small}' && cp -a '{folder}/.' '{small}' && cd '{small}' && "
            f"rm -rf '{folder}' && {{ \"$@\"; code=$?; cp -a '{small}/.' '{folder}'; exit $code; }}"
        )
        command = ["unshare", "-rm", "sh", "-c", shell, "sh", *COMMAND, *["--force"] * old]
        ran = _ended(command, runs.base)
        if ran is None or "unshare" in ran.stderr or "mount:" in ran.stderr:
            return None
        found[_outcome(runs, folder, ran, old=old, said="No space left on device")] += 1
    return found


def sizes(runs, count):
    """Files that may not grow beyond 10 sizes, as by a quota (``ulimit -f``)."""
    found = Outcomes()
    for k, share in enumerate(np.linspace(0, 0.98, 10)):
        old = bool(k % 2)
        folder = runs.folder("limited", old=old)
        size = int(max(map(len, runs.whole.values())) * share)

        def limit(size=size):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        ran = _ended(COMMAND + ["--force"] * old, folder, preexec_fn=limit)
        found[_outcome(runs, folder, ran, old=old, said="File too large")] += 1
    return found


def home(runs, count):
    """No home to write to; and, where namespaces are allowed, the code read-only as well."""
    found = Outcomes()
    for place in ("/proc", "/nonexistent", "/dev/null"):
        folder = runs.folder("homeless", old=False)
        ran = _ended(COMMAND, folder, env=environment(HOME=place, XDG_CACHE_HOME=None))
        found[_outcome(runs, folder, ran, old=False)] += 1
    folder = runs.folder("homeless", old=False)
    shell = f"mount --bind '{SOURCE}' '{SOURCE}' && mount -o remount,bind,ro '{SOURCE}' && exec \"$@\""
    ran = _ended(["unshare", "-rm", "sh", "-c", shell, "sh", *COMMAND], folder, env=environment(HOME="/proc"))
    if ran is not None and "unshare" not in ran.stderr and "mount:" not in ran.stderr:
        found[_outcome(runs, folder, ran, old=False)] += 1
    return found


def locale(runs, count):
    """No locale, one that does not exist, and an encoding that has no letters but ASCII."""
    found = Outcomes()
    none = {"LC_ALL": None, "LANG": None, "LC_CTYPE": None, "PYTHONUTF8": None}
    plain = none | {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for changed in (none, plain, plain | {"LC_ALL": "C"}, plain | {"LANG": "xx"}, plain | {"LC_ALL": "xx_XX.latin1"}):
        folder = runs.folder("nowhere", old=False)
        ran = _ended(COMMAND, folder, env=environment(**changed))
        found[_outcome(runs, folder, ran, old=False)] += 1
    return found


CLOCK = """
import time
_now, _localtime, _gmtime = [{start}], time.localtime, time.gmtime
def _time():
    _now[0] -= {step}
    return _now[0]
time.time, time.time_ns = _time, lambda: int(_time() * 10**9)
time.localtime = lambda seconds=None: _localtime(_time() if seconds is None else seconds)
time.gmtime = lambda seconds=None: _gmtime(_time() if seconds is None else seconds)
"""


def clock(runs, count):
    """A clock that goes back whenever it is read, and clocks before 1980 and after 2107 (which a zip cannot date)."""
    found = Outcomes()
    for start, step in ((1.7e9, 60), (1.7e9, 86400), (3600.0, 0), (4.5e9, 1), (0.0, 60)):
        folder = runs.folder("backwards", old=False)
        patch = runs.base / "patch"
        patch.mkdir(exist_ok=True)
        (patch / "sitecustomize.py").write_text(CLOCK.format(start=start, step=step))
        ran = _ended(COMMAND, folder, env=environment(PYTHONPATH=f"{patch}:{SOURCE}"))
        found[_outcome(runs, folder, ran, old=False)] += 1
    return found


def _ended(command, folder, env=None, **options):
    """Run a command to its end; None if it cannot be run here."""
    with contextlib.suppress(FileNotFoundError):
        return subprocess.run(
            command, cwd=folder, env=env or environment(), check=False, capture_output=True, text=True,
            errors="replace", **options,
        )  # fmt: skip


def _outcome(runs, folder, ran, *, old, said=""):
    """The state of the results, if the exit code and the message agree with it; else what is wrong."""
    state = runs.state(folder, old=old)
    if "Traceback" in ran.stderr:
        return f"traceback: {ran.stderr.splitlines()[-1]}"
    if left_over(folder):
        return "temporary files left"
    if ran.returncode != (0 if state == "new" else 2) or (state != "new" and said not in ran.stderr):
        return f"{state}, exit code {ran.returncode}: {ran.stderr[-300:]}"
    return state


FAULTS = (kills, renames, disk, sizes, home, locale, clock)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--only", default="", help="names of faults, separated by commas")
    given = options.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as base:
        runs = Runs(Path(base))
        for fault in FAULTS:
            if given.only and fault.__name__ not in given.only.split(","):
                continue
            found = fault(runs, given.kills)
            if found is None:
                print(f"{fault.__name__}: skipped, as this system gives no small file system to a user")
                continue
            good = AFTER_A_KILL if fault in (kills, renames) else GOOD
            bad = sum(n for state, n in found.items() if state.removesuffix(" (done before the kill)") not in good)
            failed += bad
            counts = ", ".join(f"{n} {state}" for state, n in found.items())
            print(f"{fault.__name__}: {sum(found.values())} runs, {bad} failed: {counts}", flush=True)
            shutil.rmtree(Path(base, "small"), ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
