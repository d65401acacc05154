"""Run the fuzzers by hand: ``python -m tests.fuzz --minutes 60 [--jobs 2] [--only fits,fuses]``.

Prints the seeds of cases that failed, and the counts, also after Ctrl-C or SIGTERM.

With ``--soak``, fits in one process for so many minutes, and whether its memory grows; see ``soak.py``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from fuzzed import SHARES
from running import fuzz


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=1.0)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--jobs", type=int, default=1, help="number of processes")
    options.add_argument("--only", default="", help="names of cases, separated by commas")
    options.add_argument("--soak", action="store_true", help="fit for so many minutes, and watch the memory")
    options.add_argument("--predicts", type=int, default=10_000, help="calls of predict, in 8 threads, after a soak")
    given = options.parse_args()
    if given.soak:
        from soak import soak

        return 0 if soak(given.minutes, given.seed, given.predicts) else 1
    only = set(filter(None, given.only.split(",")))
    if unknown := only - {case.__name__ for case in SHARES}:
        options.error(f"no such cases: {', '.join(sorted(unknown))}")
    shares = {case: share for case, share in SHARES.items() if not only or case.__name__ in only}
    counts = fuzz(shares, given.minutes, given.seed, given.jobs)
    print(counts)
    return 1 if counts.failed or not counts.done else 0


if __name__ == "__main__":  # the processes import this module
    sys.exit(main())
