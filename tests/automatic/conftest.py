import numpy as np
import pytest

from fusewise.automatic import _evidence as evidence


@pytest.fixture
def rng():
    """Random numbers, the same for every test."""
    return np.random.default_rng(0)


@pytest.fixture(params=[10**9, 0], ids=["small", "compiled"])
def small(request, monkeypatch):
    """Every property holds of what is done without compiled loops, and with them."""
    monkeypatch.setattr(evidence, "SMALL", request.param)
    monkeypatch.setattr(evidence, "few", lambda n: n <= request.param)
