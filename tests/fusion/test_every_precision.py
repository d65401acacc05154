"""Descent in every dtype, and numbers of every size: a result, or a refusal that names the column."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from fusewise import FusionClustering, FusionImputer, fuse
from fusewise.datasets import hide_entries, make_clusters
from fusewise.fusion import fusion_path
from fusewise.penalties import H1, MCP, SCAD, Lp

pytestmark = pytest.mark.filterwarnings("ignore")


def table(seed, dtype, hidden=0.0):
    X, _, _ = make_clusters(3, 6, 4, noise=0.3, random_state=seed)
    X = hide_entries(X, hidden, random_state=seed) if hidden else X
    return (X * (1 + 1j) if np.dtype(dtype).kind == "c" else X).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("penalty", [Lp(0.5), SCAD(1.0), MCP(1.0), H1(0.5)])
def test_the_objective_never_rises_in_single_precision(dtype, penalty):
    """It rose by up to a few per cent, and all-pairs problems with Lp ended in LinAlgError."""
    for seed in range(2):
        for hidden, lam in ((0.0, 10.0), (0.3, 1.0)):
            X = table(seed, dtype, hidden)
            solution = fuse(X, lam=lam, penalty=penalty, n_neighbors=None)
            history = np.array(solution.history)
            assert solution.centers.dtype == dtype
            assert np.diff(history).max(initial=0) <= 1e-9 * abs(history[0])
            double = fuse(X.astype(complex if np.dtype(dtype).kind == "c" else float), lam=lam, penalty=penalty,
                          n_neighbors=None)  # fmt: skip
            assert solution.objective == pytest.approx(double.objective, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_rows_without_entries_get_a_mean_whose_sum_is_no_number_in_single_precision(dtype):
    X = np.full((27, 2), 1e38, dtype)
    X[::4] = np.nan
    np.testing.assert_array_equal(fuse(X, lam=1.0).centers, np.full((27, 2), 1e38, dtype))


@pytest.mark.parametrize("fit", [FusionClustering().fit, FusionImputer().fit, lambda X: fuse(X, lam=1.0)])
def test_numbers_whose_squares_are_not_numbers_are_refused(fit):
    """1e160 gave centres of NaN, 1e-165 one cluster, without a word."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    large, small = X.copy(), X.copy()
    large[4, 1] = 1e160
    small[:, 2] *= 1e-165
    with pytest.raises(ValueError, match=r"a number beyond 1e\+100 \(1e\+160\): at row 4, column 1"):
        fit(large)
    with pytest.raises(ValueError, match=r"column 2 varies by less than 1e-100: multiply it"):
        fit(small)


def test_a_path_between_extremes_ends_with_numbers():
    X = table(0, float, 0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = fusion_path(X, lams=[1e-300, 1e300], penalty=H1(0.5), n_neighbors=None)
    for solution in path:
        assert np.isfinite(solution.centers).all()
        assert np.isfinite(solution.history).all()


def test_neighbours_without_common_columns():
    """One neighbour each, and no column in common: there was a division by zero."""
    X = np.full((4, 4), np.nan)
    X[np.arange(4), np.arange(4)] = 1.0
    solution = fuse(X, lam=1.0, n_neighbors=1)
    assert np.isfinite(solution.centers).all()
