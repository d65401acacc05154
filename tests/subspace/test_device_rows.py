"""EM and coordinates by torch, against NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fusewise.datasets import hide_entries
from fusewise.observations import as_entries
from fusewise.subspace import _projection as device_rows
from fusewise.subspace import coordinates, fit_subspace, information

torch = pytest.importorskip("torch")
CPU = torch.device("cpu")


@pytest.fixture
def table(monkeypatch):
    monkeypatch.setattr(device_rows, "BLOCK", 20_000)  # several blocks
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 8)) + 0.3 * rng.standard_normal((300, 8))
    X = hide_entries(X, 0.4, random_state=0)
    X[7] = np.nan
    return as_entries(X)


def test_a_fit_is_that_of_the_cpu(table):
    here, there = (fit_subspace(table, 2, device=device) for device in ("cpu", "torch:cpu"))
    assert there.noise == pytest.approx(here.noise, rel=1e-8)
    assert_allclose(there.history, here.history, rtol=1e-9)
    assert_allclose(there.basis @ there.basis.T, here.basis @ here.basis.T, atol=1e-7)


def test_information_and_coordinates_are_those_of_the_cpu(table):
    subspace = fit_subspace(table, 3)
    precision, vector, squares = device_rows.RowsOnDevice.of(table, CPU).information(subspace)
    for there, here in zip((precision, vector), information(subspace, table), strict=True):
        assert_allclose(there.numpy(), here, atol=1e-9)
    assert_allclose(squares.numpy(), np.square(np.where(table.mask, table.values - subspace.mean, 0)).sum(axis=1))
    found = device_rows.coordinates_of(subspace, precision, vector)
    for there, here in zip(found, coordinates(subspace, table), strict=True):
        assert_allclose(there.numpy(), here, atol=1e-9)
