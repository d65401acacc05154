"""Which device a name stands for, and nearest neighbours on one."""

import sys

import numpy as np
import pytest

from fusewise.kernels import _tensors, device_memory, nearest_in, torch_device

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("k", [1, 15])
@pytest.mark.parametrize("block", [2**30, 5000], ids=["one block", "blocks"])
def test_nearest_of_all(k, block, monkeypatch):
    monkeypatch.setattr(_tensors, "DISTANCE_BLOCK", block)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(700, 4)) + 4 * rng.integers(0, 4, size=(700, 1))
    squares, indices = (found.numpy() for found in nearest_in(torch.from_numpy(points), k))
    expected = ((points[:, None] - points) ** 2).sum(axis=2)
    np.fill_diagonal(expected, np.inf)
    order = np.argsort(expected, axis=1)[:, :k]
    np.testing.assert_allclose(squares, np.take_along_axis(expected, order, axis=1), rtol=1e-4, atol=1e-5)
    assert (indices == order).mean() > 0.999, "but for ties within rounding"


def test_names(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert torch_device("cpu") is None
    assert torch_device("auto") is None
    assert torch_device("torch:cpu").type == "cpu"
    with pytest.raises(RuntimeError, match="torch finds no such CUDA device"):
        torch_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert torch_device("auto").type == "cuda"
    assert torch_device("cuda:1").index == 1
    with pytest.raises(ValueError, match="unknown device 'mps'"):
        torch_device("mps")


def test_without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert torch_device("auto") is None
    with pytest.raises(ImportError, match=r"fusewise\[gpu\]"):
        torch_device("cuda")


def test_memory():
    assert device_memory(torch.device("cpu")) > 0
