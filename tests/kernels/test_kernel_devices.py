"""Which device a name stands for."""

import sys

import pytest

from fusewise.kernels import device_memory, torch_device

torch = pytest.importorskip("torch")


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
