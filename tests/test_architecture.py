"""The dependency rule, and the page that explains it."""

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
