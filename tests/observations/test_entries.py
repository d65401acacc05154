"""The observation model: its four operations against loops over the entries."""

import numpy as np
import pytest

from fusewise.observations import Entries, as_entries
from fusewise.observations import _entries as entries_module

N, P = 6, 5


@pytest.fixture(params=["real", "complex"])
def entries(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P)) + (1j * rng.normal(size=(N, P)) if request.param == "complex" else 0)
    X[rng.uniform(size=X.shape) < 0.4] = np.nan
    X[:, 4] = np.nan  # a column nobody saw
    return as_entries(X)


@pytest.fixture
def centers(entries):
    rng = np.random.default_rng(1)
    return (rng.normal(size=(N, P)) + 1j * rng.normal(size=(N, P))).astype(entries.values.dtype)


def seen(entries):
    return [(i, p) for i in range(N) for p in range(P) if entries.mask[i, p]]


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_misfit(entries, centers):
    expected = sum(abs(centers[i, p] - entries.values[i, p]) ** 2 for i, p in seen(entries))
    assert entries.misfit(centers) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_normal_and_target_give_the_gradient_of_the_misfit(entries, centers):
    gradient = 2 * (entries.normal(centers) - entries.target)
    h = 1e-6
    for unit in (1, 1j) if np.iscomplexobj(centers) else (1,):
        for i, p in ((0, 0), (2, 3), (5, 1), (1, 4)):
            step = np.zeros_like(centers)
            step[i, p] = h * unit
            slope = (entries.misfit(centers + step) - entries.misfit(centers - step)) / (2 * h)
            assert (gradient[i, p] * np.conj(unit)).real == pytest.approx(slope, abs=1e-7)


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_solve_has_no_gradient(entries, centers):
    pull = np.linspace(0.1, 2, N)
    u = entries.solve(centers, pull)
    gradient = 2 * (entries.normal(u) - entries.target) + 2 * pull[:, None] * (u - centers)
    np.testing.assert_allclose(gradient, 0, atol=1e-13)


def test_statistics_of_the_columns(entries):
    X = entries.fill(np.nan)
    for p in range(4):
        column = [X[i, p] for i in range(N) if entries.mask[i, p]]
        assert entries.column_means[p] == pytest.approx(np.mean(column))
        assert entries.column_counts[p] == len(column)
    assert entries.column_means[4] == 0
    assert entries.spread == pytest.approx(np.sqrt(sum(np.nanvar(X[:, p]) for p in range(4))))
    assert entries.observed_fraction == len(seen(entries)) / (N * P)
    assert not entries.is_complete
    np.testing.assert_array_equal(entries.row_counts, (~np.isnan(X)).sum(axis=1))
    np.testing.assert_allclose(entries.centred.sum(axis=0), 0, atol=1e-12)
    assert np.all(entries.centred[~entries.mask] == 0)


def test_fill_and_take():
    entries = as_entries([[1.0, np.nan], [np.nan, 4.0], [5.0, 6.0]])
    np.testing.assert_array_equal(entries.fill([7.0, 8.0]), [[1, 8], [7, 4], [5, 6]])
    some = entries.take(np.array([2, 0]))
    np.testing.assert_array_equal(some.fill(0), [[5, 6], [1, 0]])
    assert some.shape == (2, 2)
    assert as_entries(np.ones((2, 2))).is_complete


@pytest.mark.filterwarnings("ignore:Casting complex values")
class TestConfine:
    """Centres are clipped to the range of each column (real and imaginary parts apart)."""

    def test_clipped_entry_by_entry(self, entries, centers):
        found = entries.confine(3 * centers)
        assert found.dtype == centers.dtype
        for p in range(4):
            column = entries.values[entries.mask[:, p], p]
            for part in (np.real, np.imag):
                expected = np.clip(part(3 * centers[:, p]), part(column).min(), part(column).max())
                np.testing.assert_array_equal(part(found[:, p]), expected)

    def test_a_column_nobody_saw_is_put_to_zero(self, entries, centers):
        np.testing.assert_array_equal(entries.confine(centers)[:, 4], 0)

    @pytest.mark.parametrize("seed", range(5))
    def test_never_further_from_the_data_nor_from_each_other(self, entries, seed):
        # Hence no objective of the kind sum_i f(|u_i - x_i|) + lam sum_ij phi(|u_i - u_j|) rises.
        rng = np.random.default_rng(seed)
        centers = (2 * rng.normal(size=(N, P)) + 2j * rng.normal(size=(N, P))).astype(entries.values.dtype)
        confined = entries.confine(centers)
        assert np.all(np.abs(entries.residual(confined)) <= np.abs(entries.residual(centers)) + 1e-15)
        between = np.linalg.norm(centers[:, None] - centers, axis=2)
        assert np.all(np.linalg.norm(confined[:, None] - confined, axis=2) <= between + 1e-15)
        assert entries.misfit(confined) < entries.misfit(centers)

    def test_twice_is_once(self, entries, centers):
        once = entries.confine(3 * centers)
        np.testing.assert_array_equal(entries.confine(once), once)

    def test_the_data_and_their_means_stay(self, entries):
        filled = entries.fill(entries.column_means)
        np.testing.assert_array_equal(entries.confine(filled), filled)

    @pytest.mark.parametrize("dtype", [np.float32, np.complex64])
    def test_precision_is_kept(self, entries, dtype):
        single = as_entries(entries.fill(np.nan).astype(dtype))
        assert single.confine(np.ones((N, P), dtype)).dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_ranges_do_not_depend_on_the_blocks(dtype, monkeypatch):
    rng = np.random.default_rng(0)
    values = (rng.normal(size=(50, 4)) * (1 if dtype == np.float32 else 1 + 2j)).astype(dtype)
    values[:, 2] = 0.1
    mask = rng.random((50, 4)) < 0.6
    mask[:, 3] = False
    table = Entries(np.where(mask, values, 0), mask)
    monkeypatch.setattr(entries_module, "BLOCK_ENTRIES", 28)
    assert table.is_constant.tolist() == [False, False, True, True]
    far = np.full((50, 4), 1e3 if dtype == np.float32 else 1e3 - 1e3j, dtype)
    highest = [values[mask[:, j], j].real.max() if j < 3 else 0 for j in range(4)]
    np.testing.assert_array_equal(table.confine(far)[0].real, np.array(highest, dtype).real)


@pytest.mark.parametrize("last", [1.0, 1.0 + 2.0j], ids=["real", "complex"])
def test_a_column_that_varies_late_is_not_constant(last):
    n = entries_module.SOME_ROWS + 5
    values = np.zeros((n, 4), np.asarray(last).dtype)
    values[:, 0] = np.arange(n)
    values[-1, 1] = last
    mask = np.ones(values.shape, bool)
    mask[:, 3] = False
    assert Entries(values, mask).is_constant.tolist() == [False, False, True, True]
    assert not Entries(values[:, :1], mask[:, :1]).is_constant.any()
