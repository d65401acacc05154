"""The path: one problem after another, each from the solution of the last."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fusewise.datasets import hide_entries, make_clusters
from fusewise.fusion import fuse, fusion_path
from fusewise.penalties import H1
from fusewise.progress import listening


@pytest.fixture(scope="module")
def table():
    X, _, _ = make_clusters(3, 10, 20, noise=0.08, random_state=0)
    return hide_entries(X, 0.3, random_state=1)


def test_one_point_is_fuse(table):
    path = fusion_path(table, lams=0.3, penalty=H1(0.5))
    solution = fuse(table, lam=0.3, penalty=H1(0.5))
    assert len(path) == 1
    np.testing.assert_array_equal(path.centers(0), solution.centers)
    np.testing.assert_array_equal(path.labels[0], solution.labels)


def test_each_point_is_the_solution_started_from_the_last(table):
    lams = [0.05, 0.1, 0.2, 0.3, 0.4]
    path = fusion_path(table, lams=lams, penalty=H1(0.5), merge=False, tol=1e-9, max_iter=5000)
    by_hand = fuse(table, lam=lams[0], penalty=H1(0.5), tol=1e-9)
    for k, lam in enumerate(lams):
        if k:
            by_hand = fuse(table, lam=lam, penalty=H1(0.5), init=by_hand.centers, tol=1e-9, max_iter=5000)
            assert path[k].history[0] <= by_hand.history[0] * (1 + 1e-9), "the start is no worse than the last point"
        np.testing.assert_allclose(path.centers(k), by_hand.centers, atol=1e-5)
        assert path[k].lam == lam
    np.testing.assert_array_equal(path.lams, lams)
    assert path.converged.all()
    assert [solution.n_clusters for solution in path] == path.n_clusters.tolist()


def test_along_sigma(table):
    path = fusion_path(table, lams=0.5, sigmas=[0.3, 0.5, 3.0], penalty=H1())
    np.testing.assert_array_equal(path.sigmas, [0.3, 0.5, 3.0])
    np.testing.assert_array_equal(path.lams, [0.5] * 3)
    assert [solution.penalty for solution in path] == [H1(0.3), H1(0.5), H1(3.0)]
    assert path.n_clusters[-1] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lams": [0.1, 0.2], "sigmas": [1.0, 2.0, 3.0]}, "got 2 lams and 3 sigmas"),
        ({"lams": []}, "lams must be a number or a non-empty sequence"),
        ({"lams": [[0.1]]}, "lams must be a number or a non-empty sequence"),
        ({"lams": [0.1, -0.2]}, "lam must be at least 0, got -0.2"),
        ({"sigmas": [1.0, 0.0]}, "sigma must be a positive number, got 0.0"),
        ({"sigmas": []}, "sigmas"),
        ({"sigmas": [1.0], "penalty": "l1"}, "L1 has no scale sigma"),
    ],
)
def test_bad_schedules(table, options, message):
    with pytest.raises(ValueError, match=message):
        fusion_path(table, **options)


def test_interruption_keeps_what_was_done(table):
    calls = []

    def stop(stage, *step, **values):
        calls.append(stage)
        if len(calls) == 1 + first.n_iter:
            raise KeyboardInterrupt

    options = {"penalty": H1(0.5), "tol": 1e-8}
    first = fuse(table, lam=0.05, **options)
    assert first.n_iter > 0
    with pytest.warns(ConvergenceWarning, match="interrupted after 1 iteration:"), listening(stop):
        path = fusion_path(table, lams=[0.05, 0.2, 0.5], **options)
    assert len(path) == 2
    assert [solution.status for solution in path] == ["converged", "interrupted"]
    np.testing.assert_array_equal(path.centers(0), first.centers)
