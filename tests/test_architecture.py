"""The dependency rule, and what a user sees when an extra is missing."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_dependency_rule():
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_core_needs_no_extra():
    """The library works where nothing but its core dependencies can be imported."""
    blocked = ("typer", "rich", "polars", "matplotlib", "highspy")
    script = f"""
import sys
for name in {blocked!r}:
    sys.modules[name] = None
import numpy as np
from fusewise import FusionClustering
X = np.array([[0, .1], [.1, np.nan], [np.nan, 0], [5, 5.1], [5.1, np.nan], [np.nan, 5]])
assert len(FusionClustering().fit(X).labels_) == 6
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_missing_extra_is_named():
    script = """
import sys
sys.modules["highspy"] = None
import numpy as np
from fusewise.exact import solve_l0
try:
    rng = np.random.default_rng(0)
    X = rng.random((30, 3))
    X[rng.random(X.shape) < 0.5] = np.nan  # many pairs can share a centre: no reduction settles it all
    solve_l0(X, 0.3)
except ImportError as error:
    assert "fusewise[exact]" in str(error), error
else:
    raise AssertionError("no error")
"""
    subprocess.run([sys.executable, "-c", script], check=True)
