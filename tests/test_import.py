"""``import fusewise`` is quick: names are found when they are first used."""

import subprocess
import sys

import pytest

import fusewise


def test_nothing_heavy_is_imported():
    script = "import sys, fusewise; print(*sorted({'numpy', 'scipy', 'sklearn', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_every_public_name_is_there():
    assert set(fusewise.__all__) <= set(dir(fusewise))
    for name in fusewise.__all__:
        assert getattr(fusewise, name) is getattr(fusewise, name)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = fusewise.nothing
    with pytest.raises(ImportError, match="nothing"):
        from fusewise import nothing  # noqa: F401
