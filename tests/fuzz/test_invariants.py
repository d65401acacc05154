"""A small budget of the fuzzers; ``python -m tests.fuzz --minutes 60`` runs them for longer."""

from __future__ import annotations

import pytest
from fuzzed import BUDGET
from hypothesis import given, settings
from invariants import quietly, seeds


@pytest.mark.parametrize("case", BUDGET, ids=lambda case: case.__name__)
def test_a_result_or_an_error_in_plain_words(case):
    @settings(max_examples=BUDGET[case], deadline=None, derandomize=True, database=None)
    @given(seeds)
    def run(seed):
        quietly(case, seed)

    run()
