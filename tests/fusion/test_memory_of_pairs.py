"""Memory of all pairs: the prediction is what a fit uses, and what does not fit is refused before any work."""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
import pytest

from fusewise import PenalizedFusion, fuse
from fusewise.fusion import _problem as setup
from fusewise.fusion import fusion_path
from fusewise.penalties import H1
from fusewise.progress import listening


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("n", [1300, 1600, 2000])
def test_a_fit_uses_the_memory_that_was_predicted(n, missing):
    """With missing entries it used twice as much: steps that failed, and earlier descents, kept their weights."""
    X = np.random.default_rng(0).normal(size=(n, 3))
    if missing:
        X[::2, 0] = np.nan
    fuse(X[:450], lam=0.15 / n, penalty=H1(1.0), n_neighbors=None, max_iter=1)  # compiles what is needed
    tracemalloc.start()
    try:
        fuse(X, lam=0.15 / n, penalty=H1(1.0), n_neighbors=None, max_iter=1)
        one = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        fusion_path(X, lams=[0.05 / n, 0.1 / n], penalty=H1(1.0), n_neighbors=None, max_iter=1)
        path = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.array([one, path]) / (8 * n**2 + setup.WORK_SPACE) == pytest.approx([1, 1], abs=0.15)


def test_all_pairs_that_do_not_fit_are_refused_before_any_work(monkeypatch):
    """A fit of 50,000 rows computed distances for two minutes before it refused."""
    monkeypatch.setattr(setup, "available_memory", lambda: 1000)

    def work(stage, *progress, **values):
        pytest.fail(f"work was done: {stage}")

    X = np.random.default_rng(0).normal(size=(50, 3))
    for refused in (PenalizedFusion().fit, partial(fuse, n_neighbors=None), partial(fusion_path, n_neighbors=None)):
        with pytest.raises(MemoryError, match=r"all pairs of 50 rows need 2.88 MiB.*n_neighbors=15"), listening(work):
            refused(X)
