"""What several tests share."""

import pytest

from fusewise.kernels.devices import placement


@pytest.fixture(params=["cpu", "torch"])
def place(request):
    """The way to where arrays are worked on: nowhere else, and torch."""
    if request.param == "torch":
        pytest.importorskip("torch")
    return placement(request.param)
