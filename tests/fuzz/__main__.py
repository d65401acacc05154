"""Run the fuzzers by hand: ``python -m tests.fuzz --minutes 60 [--only fits,fuses]``; prints seeds that failed."""

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
from invariants import CASES, quietly

#: Seconds that a case may take.
LIMIT = 60


def late(number, frame):
    raise TimeoutError(f"more than {LIMIT} seconds")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=1.0)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", default="")
    given = options.parse_args()
    only = given.only.split(",") if given.only else [case.__name__ for case in CASES]
    cases = {case: count for case, count in CASES.items() if case.__name__ in only}
    shares = np.array(list(cases.values())) / sum(cases.values())
    rng = np.random.default_rng(given.seed)
    signal.signal(signal.SIGALRM, late)
    done, failed, end = Counter(), [], time.monotonic() + 60 * given.minutes
    while time.monotonic() < end:
        case, seed = list(cases)[rng.choice(len(cases), p=shares)], int(rng.integers(2**32))
        done[case.__name__] += 1
        signal.alarm(LIMIT)
        try:
            quietly(case, seed)
        except Exception as error:
            failed.append((case.__name__, seed))
            print(f"FAILED {case.__name__}({seed}): {type(error).__name__}: {error}", flush=True)
            traceback.print_exc(limit=-3)
        finally:
            signal.alarm(0)
    print(f"{sum(done.values())} cases, {len(failed)} failed: {dict(done)}")
    return 1 if failed else 0


sys.exit(main())
