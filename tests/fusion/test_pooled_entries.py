"""Entries as the loop sees them: its operations against loops over the entries."""

import numpy as np
import pytest

from fusewise.fusion._problem import PooledEntries
from fusewise.observations import as_entries

N, P = 6, 5


@pytest.fixture(params=["real", "complex"])
def entries(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P)) + (1j * rng.normal(size=(N, P)) if request.param == "complex" else 0)
    X[rng.uniform(size=X.shape) < 0.4] = np.nan
    X[:, 4] = np.nan  # a column nobody saw
    return as_entries(X)


@pytest.fixture
def pooled(entries):
    return PooledEntries.of(entries)


@pytest.fixture
def centers(entries):
    rng = np.random.default_rng(1)
    return (rng.normal(size=(N, P)) + 1j * rng.normal(size=(N, P))).astype(entries.values.dtype)


def seen(entries):
    return [(i, p) for i in range(N) for p in range(P) if entries.mask[i, p]]


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_misfit(entries, pooled, centers):
    expected = sum(abs(centers[i, p] - entries.values[i, p]) ** 2 for i, p in seen(entries))
    assert pooled.misfit(centers) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_normal_and_target_give_the_gradient_of_the_misfit(pooled, centers):
    gradient = 2 * (pooled.normal(centers) - pooled.target)
    h = 1e-6
    for unit in (1, 1j) if np.iscomplexobj(centers) else (1,):
        for i, p in ((0, 0), (2, 3), (5, 1), (1, 4)):
            step = np.zeros_like(centers)
            step[i, p] = h * unit
            slope = (pooled.misfit(centers + step) - pooled.misfit(centers - step)) / (2 * h)
            assert (gradient[i, p] * np.conj(unit)).real == pytest.approx(slope, abs=1e-7)


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_solve_has_no_gradient(pooled, centers):
    pull = np.linspace(0.1, 2, N)
    u = pooled.solve(centers, pull)
    gradient = 2 * (pooled.normal(u) - pooled.target) + 2 * pull[:, None] * (u - centers)
    np.testing.assert_allclose(gradient, 0, atol=1e-13)


@pytest.mark.filterwarnings("ignore:Casting complex values")
class TestConfine:
    """Centres are clipped to the range of each column (real and imaginary parts apart)."""

    def test_clipped_entry_by_entry(self, entries, pooled, centers):
        found = pooled.confine(3 * centers)
        assert found.dtype == centers.dtype
        for p in range(4):
            column = entries.values[entries.mask[:, p], p]
            for part in (np.real, np.imag):
                expected = np.clip(part(3 * centers[:, p]), part(column).min(), part(column).max())
                np.testing.assert_array_equal(part(found[:, p]), expected)

    def test_a_column_nobody_saw_is_put_to_zero(self, pooled, centers):
        np.testing.assert_array_equal(pooled.confine(centers)[:, 4], 0)

    @pytest.mark.parametrize("seed", range(5))
    def test_never_further_from_the_data_nor_from_each_other(self, entries, pooled, seed):
        # Hence no objective of the kind sum_i f(|u_i - x_i|) + lam sum_ij phi(|u_i - u_j|) rises.
        rng = np.random.default_rng(seed)
        centers = (2 * rng.normal(size=(N, P)) + 2j * rng.normal(size=(N, P))).astype(entries.values.dtype)
        confined = pooled.confine(centers.copy())
        assert np.all(np.abs(entries.residual(confined)) <= np.abs(entries.residual(centers)) + 1e-15)
        between = np.linalg.norm(centers[:, None] - centers, axis=2)
        assert np.all(np.linalg.norm(confined[:, None] - confined, axis=2) <= between + 1e-15)
        assert pooled.misfit(confined) < pooled.misfit(centers)
