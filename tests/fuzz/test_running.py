"""Counts of cases in several processes, whatever ends them."""

from __future__ import annotations

import os
import signal

import pytest
import running
from invariants import Refused


def fine(seed):
    pass


def refused(seed):
    raise Refused


def wrong(seed):
    raise AssertionError("no")


def dying(seed):
    os.kill(os.getpid(), signal.SIGSEGV)


class Stopping(running.Counts):
    """Sends a signal to this process after 40 cases, of more than one process."""

    number = signal.SIGTERM

    def __init__(self):
        super().__init__()
        self.jobs = set()

    def add(self, case, own, ended):
        super().add(case, own, ended)
        self.jobs.add(own % 2)
        if self.done.total() >= 40 and self.jobs == {0, 1}:
            os.kill(os.getpid(), self.number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_counts_are_known_after_a_signal(monkeypatch, capsys, number):
    monkeypatch.setattr(running, "Counts", Stopping)
    monkeypatch.setattr(Stopping, "number", number)
    counts = running.fuzz({fine: 5, refused: 5, wrong: 1}, minutes=60, jobs=2)
    assert counts.done.total() >= 40
    assert counts.refused == {"fine": 0, "wrong": 0, "refused": counts.done["refused"]}
    assert len(counts.failed) == counts.done["wrong"] == capsys.readouterr().out.count("FAILED wrong(")
    assert len({own for _, own in counts.failed}) == len(counts.failed)
    assert f"{counts.done.total()} cases, {len(counts.failed)} failed" in str(counts)


def test_a_process_that_dies_is_a_failure_and_another_goes_on(monkeypatch):
    counts = running.Counts()
    monkeypatch.setattr(running, "Counts", lambda: counts)
    add = counts.add

    def stopping(*case):
        add(*case)
        if len(counts.failed) == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    counts.add = stopping
    assert running.fuzz({dying: 1}, minutes=60) is counts
    assert [case for case, _ in counts.failed] == ["dying", "dying"]
