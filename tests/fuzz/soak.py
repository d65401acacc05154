"""A soak: random fits in one process, whose memory must not grow; and ``predict`` from several threads at once.

Memory grows in steps where code is loaded, once for each process: Numba (110 MB, at the first loop that is worth it),
loops for a further dtype, modules such as those of Dask and the report. So it is also said how much code was loaded.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from fuzzed import CASES
from invariants import quietly
from odd_inputs import plain_table

import fusewise
from fusewise import FusionClustering
from fusewise.kernels._compiling import Loop

#: Share of the time in which caches and pools fill; the memory after it is compared.
WARM_UP = 0.3
#: Growth of the memory, in MB an hour, that is not told from none.
FLAT = 20.0
THREADS = 8


def memory():
    """Resident memory of this process, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def code_loaded():
    """Number of modules, and of compiled loops with their dtypes, in this process."""
    ours = [module for name, module in list(sys.modules.items()) if name.startswith("fusewise.")]
    loops = {id(value): value for module in ours for value in vars(module).values() if isinstance(value, Loop)}
    return len(sys.modules), sum(len(loop.fast.signatures) for loop in loops.values() if "fast" in vars(loop))


def trend(hours, megabytes, blocks=10):
    """Slope of the memory, in MB an hour, and its standard error.

    Memory is measured after each fit, and its noise lasts over many of them, so the line is through means of blocks.
    """
    parts = np.array_split(np.arange(len(hours)), blocks)
    x = np.array([np.mean(np.asarray(hours)[part]) for part in parts])
    y = np.array([np.mean(np.asarray(megabytes)[part]) for part in parts])
    away = x - x.mean()
    slope = away @ y / (away @ away)
    rest = y - y.mean() - slope * away
    return slope, np.sqrt(rest @ rest / (blocks - 2) / (away @ away))


def soak(minutes, seed, predicts):
    """Run cases for so many minutes and print the trend of the memory; then predict; whether all is well."""
    rng = np.random.default_rng(seed)
    cases = [case for case in CASES if case.__name__ not in ("scans", "models")]
    start, hours, megabytes, code, failed = time.monotonic(), [], [], [], 0
    while (spent := time.monotonic() - start) < 60 * minutes:
        case, own = cases[rng.integers(len(cases))], int(rng.integers(2**32))
        try:
            quietly(case, own)
        except Exception as error:
            failed += 1
            print(f"FAILED {case.__name__}({own}): {type(error).__name__}: {error}", flush=True)
        gc.collect()
        hours.append(spent / 3600)
        megabytes.append(memory())
        code.append(code_loaded())
    first = int(np.searchsorted(hours, WARM_UP * minutes / 60))
    slope, error = trend(hours[first:], megabytes[first:])
    flat = slope < FLAT + 2 * error
    modules, loops = np.subtract(code[-1], code[first])
    steps = [
        after - before
        for before, after, earlier, now in zip(
            megabytes[first:-1], megabytes[first + 1 :], code[first:-1], code[first + 1 :], strict=True
        )
        if now != earlier
    ]
    print(
        f"{len(hours)} cases, {failed} failed, in {minutes:g} minutes; memory "
        f"{megabytes[first]:.0f} MB after {WARM_UP:.0%} of them, {megabytes[-1]:.0f} MB at the end, "
        f"at most {max(megabytes):.0f} MB; "
        f"slope {slope:+.1f} ± {error:.1f} MB an hour: {'flat' if flat else 'it grows'}; "
        f"meanwhile {modules} modules and {loops} loops were loaded, in cases after which it was {sum(steps):+.0f} MB",
        flush=True,
    )
    wrong = predict_at_once(predicts)
    print(f"{predicts} calls of predict from {THREADS} threads at once: {wrong} with other answers")
    return flat and not wrong and not failed


def predict_at_once(calls, threads=THREADS):
    """Call ``predict`` and ``predict_proba`` of one loaded model from several threads; how many answers differ."""
    X, _ = plain_table(1)
    with tempfile.TemporaryDirectory() as folder:
        FusionClustering().fit(X).save(Path(folder, "m"))
        model = fusewise.load(Path(folder, "m"))
    rng = np.random.default_rng(0)
    parts = [X[np.sort(rng.choice(len(X), size=int(rng.integers(1, len(X))), replace=False))] for _ in range(20)]
    expected = [(model.predict(part), model.predict_proba(part)) for part in parts]
    ready = threading.Barrier(threads)

    def some(thread):
        ready.wait()
        wrong = 0
        for call in range(thread, calls, threads):
            which = call % len(parts)
            labels, shares = expected[which]
            if call % 2:
                wrong += not np.array_equal(model.predict(parts[which]), labels)
            else:
                wrong += not np.array_equal(model.predict_proba(parts[which]), shares)
        return wrong

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(some, range(threads)))
