"""Run the fuzzers by hand: ``python -m tests.fuzz --minutes 60 [--only fits,graphs]``.

Prints the seeds of cases that failed and, also after Ctrl-C, the counts. For several processes at once, run it with
other seeds beside.
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

#: Seconds of processor time that a case may take.
LIMIT = 60


def late(number, frame):
    raise TimeoutError(f"more than {LIMIT} seconds of work")


def fuzz(shares, minutes, seed):
    """Run cases, of each kind its share; how each ended, and the cases that failed."""
    signal.signal(signal.SIGPROF, late)
    cases, rng = list(shares), np.random.default_rng(seed)
    chances = np.array(list(shares.values())) / sum(shares.values())
    ended, failed, end = Counter(), [], time.monotonic() + 60 * minutes
    try:
        while time.monotonic() < end:
            case, own = cases[rng.choice(len(cases), p=chances)], int(rng.integers(2**32))
            signal.setitimer(signal.ITIMER_PROF, LIMIT)
            try:
                ended[case.__name__, quietly(case, own)] += 1
            except Exception:
                failed.append((case.__name__, own))
                print(f"FAILED {case.__name__}({own}): {traceback.format_exc(limit=-3, chain=False)}", flush=True)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
    except KeyboardInterrupt:
        pass
    return ended, failed


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=1.0)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", default="", help="names of cases, separated by commas")
    given = options.parse_args()
    only = set(filter(None, given.only.split(",")))
    if unknown := only - {case.__name__ for case in SHARES}:
        options.error(f"no such cases: {', '.join(sorted(unknown))}")
    shares = {case: share for case, share in SHARES.items() if not only or case.__name__ in only}
    ended, failed = fuzz(shares, given.minutes, given.seed)
    each = ", ".join(f"{case} {count} {how}" for (case, how), count in ended.most_common())
    print(f"{ended.total() + len(failed)} cases, {len(failed)} failed: {each}")
    return 1 if failed or not ended else 0


if __name__ == "__main__":
    sys.exit(main())
