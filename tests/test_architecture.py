"""The dependency rule, the page that explains it, and what a user sees when an extra is missing."""

import configparser
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "fusewise"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_dependency_rule():
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_paths_of_the_architecture_page_exist():
    named = set(re.findall(r"`([\w./]+(?:\.py|/))`", PAGE))
    assert len(named) > 50
    missing = [path for path in named if not ((ROOT if path.startswith("tests/") else PACKAGE) / path).exists()]
    assert not missing


def test_the_architecture_page_has_the_layers_of_the_dependency_rule():
    rules = configparser.ConfigParser()
    rules.read(ROOT / ".importlinter")
    layers = rules["importlinter:contract:layers"]["layers"].split("\n")
    enforced = [set(re.findall(r"\w+", layer)) for layer in layers if layer.strip()]
    described = [set() for _ in enforced]
    for layer, rooms in re.findall(r"^\| (\d+) \| (.*?) \|", PAGE, flags=re.M):
        described[int(layer) - 1] |= set(re.findall(r"`(\w+)(?:\.py|/)`", rooms))
    assert described == enforced
    assert set().union(*described) == {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    } - {"__init__"}


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
