"""Cases at random, in several processes, until the time ends or a signal comes; a process that dies is a failure."""

from __future__ import annotations

import signal
import time
import traceback
from collections import Counter
from multiprocessing import get_context
from multiprocessing.connection import wait

import numpy as np
from invariants import quietly

#: Seconds of processor time that a case may take, and seconds on the clock.
LIMIT, PATIENCE = 60, 600
#: Seconds from one line with the counts so far to the next.
EVERY = 300


def late(number, frame):
    raise TimeoutError(f"more than {LIMIT} seconds of work, or {PATIENCE} of waiting")


def outcome(case, own):
    """ "done" or "refused", or how the case failed."""
    signal.alarm(PATIENCE)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        return quietly(case, own)
    except Exception as error:
        where = "".join(traceback.format_exception(error, limit=-3, chain=False))
        return f"{type(error).__name__}: {error}\n{where}"
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)


def work(connection, shares, seed, job, jobs):
    """Send each case before it starts, and how it ended.

    Seeds of cases are ``job`` modulo ``jobs``: no two processes have the same.
    """
    # Ctrl-C reaches all processes of a terminal; the first one ends all. A command has handlers of its own for both.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    signal.signal(signal.SIGALRM, late)
    signal.signal(signal.SIGPROF, late)
    cases, rng = list(shares), np.random.default_rng(seed)
    chances = np.array(list(shares.values())) / sum(shares.values())
    while True:
        case = cases[rng.choice(len(cases), p=chances)]
        own = int(rng.integers(2**32 // jobs)) * jobs + job
        connection.send((case.__name__, own))
        connection.send(outcome(case, own))


class Counts:
    """How many cases of each kind were done, how many were refused, and which ones failed."""

    def __init__(self):
        self.done, self.refused, self.failed = Counter(), Counter(), []

    def add(self, case, own, ended):
        """Count a case; print it if it failed."""
        self.done[case] += 1
        self.refused[case] += ended == "refused"
        if ended not in ("done", "refused"):
            self.failed.append((case, own))
            print(f"FAILED {case}({own}): {ended}", flush=True)

    def __str__(self):
        def each(counts):
            return ", ".join(f"{case} {count}" for case, count in counts.most_common() if count)

        return (
            f"{self.done.total()} cases, {len(self.failed)} failed: {each(self.done)}; "
            f"of which refused: {each(self.refused) or 'none'}"
        )


class Worker:
    """A process with cases of its own, and the case that it is at."""

    def __init__(self, shares, seed, job, jobs):
        context = get_context("spawn")
        self.seed, self.job, self.at, self.since = seed, job, None, time.monotonic()
        self.connection, theirs = context.Pipe()
        given = (theirs, shares, seed.spawn(1)[0], job, jobs)
        self.process = context.Process(target=work, args=given, daemon=True)
        self.process.start()
        theirs.close()

    def take(self, counts):
        """Count what the process has sent; whether it is still alive."""
        try:
            sent = self.connection.recv()
        except (EOFError, OSError):
            self.end()
            counts.add(*(self.at or ("start", self.job)), f"the process died, exit code {self.process.exitcode}")
            return False
        if isinstance(sent, str):
            counts.add(*self.at, sent)
        self.at, self.since = None if isinstance(sent, str) else sent, time.monotonic()
        return True

    def end(self):
        """Stop the process, also in a compiled loop that never ends."""
        self.process.kill()
        self.process.join()


def fuzz(shares, minutes, seed=0, jobs=1):
    """Run cases, of each kind its share, in so many processes; return the counts, also after Ctrl-C or SIGTERM."""
    stopped, counts = [], Counts()
    before = {
        number: signal.signal(number, lambda number, frame: stopped.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    seeds = np.random.SeedSequence(seed).spawn(jobs)
    workers = [Worker(shares, own, job, jobs) for job, own in enumerate(seeds)]
    end = time.monotonic() + 60 * minutes
    said = time.monotonic()
    try:
        while time.monotonic() < end and not stopped:
            ready = wait([worker.connection for worker in workers], timeout=0.5)
            for k, worker in enumerate(workers):
                alive = worker.connection not in ready or worker.take(counts)
                if time.monotonic() > worker.since + 1.5 * PATIENCE:
                    worker.process.kill()  # its own alarm did not stop it
                if not alive:
                    workers[k] = Worker(shares, worker.seed, worker.job, jobs)
            if time.monotonic() > said + EVERY:
                said = time.monotonic()
                print(f"so far {counts}", flush=True)
    finally:
        for worker in workers:
            worker.end()
        for number, handler in before.items():
            signal.signal(number, handler)
    return counts
