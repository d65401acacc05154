"""What memory there is, by control group and by machine, and what is refused for want of it."""

import numpy as np
import pytest

from fusewise.fusion import _problem as setup
from fusewise.fusion import fuse
from fusewise.kernels import _arrays as memory
from fusewise.kernels import available_memory

GIB = 2**30


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with 8 GiB to hand out and no control groups yet."""
    (tmp_path / "meminfo").write_text(f"MemTotal: 16777216 kB\nMemAvailable: {8 * 2**20} kB\n")
    monkeypatch.setattr(memory, "MEMORY_INFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CGROUPS", tmp_path / "cgroup")
    (tmp_path / "cgroup" / "memory").mkdir(parents=True)
    return tmp_path / "cgroup"


def test_without_limits(machine):
    assert available_memory() == 8 * GIB


def test_a_limit_of_version_2(machine):
    (machine / "memory.max").write_text(f"{4 * GIB}\n")
    (machine / "memory.current").write_text(f"{3 * GIB}\n")
    assert available_memory() == GIB
    (machine / "memory.stat").write_text(f"anon 5\ninactive_file {GIB // 2}\n")
    assert available_memory() == GIB + GIB // 2, "cached files are given back"
    (machine / "memory.max").write_text("max\n")
    assert available_memory() == 8 * GIB


def test_a_limit_of_version_1(machine):
    (machine / "memory" / "memory.limit_in_bytes").write_text(f"{2 * GIB}\n")
    (machine / "memory" / "memory.usage_in_bytes").write_text(f"{GIB}\n")
    assert available_memory() == GIB


def test_a_group_beyond_its_limit_has_nothing(machine):
    (machine / "memory.max").write_text("100")
    (machine / "memory.current").write_text("200")
    assert available_memory() == 0


def test_a_machine_that_does_not_say(machine, monkeypatch):
    monkeypatch.setattr(memory, "MEMORY_INFO", machine / "nothing")
    assert available_memory() > 0


class TestAllPairs:
    @pytest.fixture
    def X(self):
        X = np.random.default_rng(0).normal(size=(60, 3))
        X[:30] += 9
        return X

    @pytest.fixture
    def tight(self, monkeypatch):
        """Not quite room for a 60 x 60 array of numbers, and work space."""
        monkeypatch.setattr(setup, "available_memory", lambda: 60 * 60 * 8 + setup.WORK_SPACE - 1)

    def test_by_default_a_graph_stands_in(self, X, tight):
        with pytest.warns(UserWarning, match=r"all pairs of 60 rows need 2.89 MiB.*2.89 MiB are available.*15 nearest"):
            solution = fuse(X, lam=1.0)
        expected = fuse(X, lam=1.0, n_neighbors=15)
        np.testing.assert_array_equal(solution.centers, expected.centers)

    def test_what_fits_is_taken(self, X, monkeypatch):
        monkeypatch.setattr(setup, "available_memory", lambda: 60 * 60 * 8 + setup.WORK_SPACE)
        np.testing.assert_array_equal(fuse(X, lam=1.0).centers, fuse(X, lam=1.0, n_neighbors=None).centers)
