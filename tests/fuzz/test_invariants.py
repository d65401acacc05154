"""A small budget of the fuzzers; ``python -m tests.fuzz --minutes 60`` runs them for longer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from block_invariants import dask_arrays, dask_frames, streams
from call_invariants import described
from file_invariants import models, scans
from fuzzed import BUDGET
from hypothesis import given, settings
from invariants import frames, quietly, seeds
from odd_inputs import plain_table

from fusewise import FusionClustering


@pytest.mark.parametrize(("case", "seed"), [
    (described, 118034928),  # in as many dimensions as columns, numbers that are not finite
    (described, 2593088490),  # an empty word is a level
    (models, 3877468285),  # complex means
    (dask_frames, 1129974971),
    (streams, 1092804038),  # the rows kept do not vary, and lack a level
    (frames, 4286121126),  # coordinates so large that their covariance was lost in rounding
    (dask_arrays, 3524381410),  # a row was an outlier or not, as other rows of its block were
])  # fmt: skip
def test_cases_that_failed_once(case, seed):
    quietly(case, seed)


@pytest.mark.parametrize("case", BUDGET, ids=lambda case: case.__name__)
def test_a_result_or_an_error_in_plain_words(case):
    if case is scans:
        pytest.importorskip("ismrmrd")

    @settings(max_examples=BUDGET[case], deadline=None, derandomize=True, database=None)
    @given(seeds)
    def run(seed):
        quietly(case, seed)

    run()


def test_one_model_predicts_in_eight_threads_at_once():
    X, _ = plain_table(1)
    model = FusionClustering().fit(X)
    rng = np.random.default_rng(0)
    parts = [X[np.sort(rng.choice(len(X), size=int(rng.integers(1, len(X))), replace=False))] for _ in range(20)]
    expected = [model.predict_proba(part) for part in parts]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(model.predict_proba, parts * 10))
    for probabilities, own in zip(found, expected * 10, strict=True):
        np.testing.assert_array_equal(probabilities, own)
