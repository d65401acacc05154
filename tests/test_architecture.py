"""The dependency rule."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_dependency_rule():
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
