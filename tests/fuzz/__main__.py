"""Run the fuzzers by hand: ``python -m tests.fuzz --minutes 60 [--only fits,fuses]``; prints seeds that failed.

With ``--soak``, fits in one process for so many minutes, and whether its memory grows; see ``soak.py``.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from fuzzed import SHARES
from invariants import quietly

#: Seconds of processor time that a case may take, and seconds on the clock.
LIMIT, PATIENCE = 60, 600


def late(number, frame):
    raise TimeoutError(f"more than {LIMIT} seconds of work, or {PATIENCE} of waiting")


def fuzz(minutes, seed, only):
    """Run cases at random, of each kind its share; return the number that failed."""
    cases = {case: count for case, count in SHARES.items() if not only or case.__name__ in only}
    shares = np.array(list(cases.values())) / sum(cases.values())
    rng = np.random.default_rng(seed)
    signal.signal(signal.SIGALRM, late)
    signal.signal(signal.SIGPROF, late)
    stopped = []
    signal.signal(signal.SIGUSR1, lambda number, frame: stopped.append(number))  # ends with the counts so far
    done, refused, failed, end = Counter(), Counter(), [], time.monotonic() + 60 * minutes
    while time.monotonic() < end and not stopped:
        case, own = list(cases)[rng.choice(len(cases), p=shares)], int(rng.integers(2**32))
        done[case.__name__] += 1
        signal.alarm(PATIENCE)
        signal.setitimer(signal.ITIMER_PROF, LIMIT)
        try:
            refused[case.__name__] += quietly(case, own) == "refused"
        except Exception as error:
            failed.append((case.__name__, own))
            print(f"FAILED {case.__name__}({own}): {type(error).__name__}: {error}", flush=True)
            traceback.print_exc(limit=-3, chain=False)
        finally:
            signal.alarm(0)
            signal.setitimer(signal.ITIMER_PROF, 0)
    print(f"{sum(done.values())} cases, {len(failed)} failed: {dict(done)}, of which refused: {dict(refused)}")
    return len(failed)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=1.0)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", default="", help="names of cases, separated by commas")
    options.add_argument("--soak", action="store_true", help="fit for so many minutes, and watch the memory")
    options.add_argument("--predicts", type=int, default=10_000, help="calls of predict, in 8 threads, after a soak")
    given = options.parse_args()
    if given.soak:
        from soak import soak

        return 0 if soak(given.minutes, given.seed, given.predicts) else 1
    return 1 if fuzz(given.minutes, given.seed, given.only.split(",") if given.only else ()) else 0


sys.exit(main())
