"""Loops run compiled or interpreted with the same result; compiling is told of, and no part of the time of a fit."""

import os
import shutil
import subprocess
import sys
import time
from math import sqrt
from pathlib import Path

import pytest

import fusewise
from fusewise.kernels import Stopwatch, announcing, compiled
from fusewise.kernels._compiling import STAGE, Loop

SOURCE = Path(fusewise.__file__).parent


@compiled(shapes=("",), fastmath=False)
def half(x):
    return x / 2


@compiled(shapes=("",), fastmath=False)
def root_of_half(x):
    return sqrt(half(x))


def run(script, **environment):
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=os.environ | environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_loop_runs_compiled_or_interpreted():
    assert root_of_half(8.0) == root_of_half.interpret(8.0) == root_of_half.function(8.0) == 2.0
    assert root_of_half.fast.signatures  # Numba has compiled it
    assert root_of_half.__name__ == "root_of_half"


def test_compiling_is_told_of_and_not_counted():
    heard = []

    def slow(stage, iteration, total=None, **values):
        heard.append((stage, iteration))
        time.sleep(0.2)  # part of compiling, as far as the stopwatch knows

    @compiled(shapes=("",))
    def unheard_of(x):
        return x + 1

    loop = Loop(unheard_of.function, ("",))
    loop.fast._cache.disable()  # whatever an earlier run has kept
    watch = Stopwatch()
    begin = time.perf_counter()
    with announcing(slow):
        loop(1.0)
        loop(2.0)
    whole = time.perf_counter() - begin
    assert [stage for stage, _ in heard] == [STAGE]
    assert watch.compiling >= 0.2
    assert watch.working < whole - 0.2 + 0.05


SMALL_FIT = """
import sys
import numpy as np
from fusewise import FusionClustering
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 6)) + 4 * rng.integers(3, size=120)[:, None]
X[rng.random(X.shape) < 0.3] = np.nan
FusionClustering().fit(X).predict(X)
print("numba" in sys.modules)
"""


def test_a_small_table_needs_no_compiler():
    assert run(SMALL_FIT) == "False"


COMPILE = """
import numpy as np
import fusewise
from fusewise.kernels import edge_squares
points, ends = np.arange(6.0).reshape(3, 2), np.array([0, 1, 2])
print(fusewise.__file__, *edge_squares(points, ends, ends[::-1].copy()))
"""


def test_where_nothing_can_be_kept_loops_are_compiled_all_the_same(tmp_path):
    """Neither beside the code, nor in the home folder, nor where NUMBA_CACHE_DIR says: files stand in for folders."""
    package, nowhere = tmp_path / "fusewise", tmp_path / "file"
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    nowhere.touch()
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (folder / "__pycache__").touch()
    homes = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "IPYTHONDIR"), str(nowhere / "home"))
    cache = str(nowhere / "cache")
    found = run(COMPILE, PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1", NUMBA_CACHE_DIR=cache, **homes).split()
    assert Path(found[0]).parent == package
    assert [float(square) for square in found[1:]] == [32.0, 0.0, 32.0]


@pytest.mark.parametrize(("cause", "expected"), [(KeyboardInterrupt(), KeyboardInterrupt), (ValueError(), SystemError)])
def test_ctrl_c_in_a_compiled_loop_is_ctrl_c(cause, expected):
    """Python reports a signal that comes while a compiled function returns as a SystemError caused by it."""
    loop = Loop(half.function, ("",))

    def returning(_):
        inner = SystemError("returned a result with an exception set")
        inner.__cause__ = cause
        raise SystemError("returned a result with an exception set") from inner

    loop.__dict__["fast"] = returning
    with pytest.raises(expected):
        loop(1.0)
