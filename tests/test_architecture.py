"""The dependency rule, and the page that explains it."""

import ast
import configparser
import re
import subprocess
import sys
from collections import Counter
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


def modules():
    return [path for path in PACKAGE.rglob("*.py") if not path.stem.startswith("__")]


def test_a_file_name_occurs_once_in_a_room():
    """But for commands, which are named as users call them."""
    inside = [path.relative_to(PACKAGE) for path in modules() if path.parent.name != "commands"]
    names = Counter((path.parts[0], path.name) for path in inside)
    assert not [name for name, count in names.items() if count > 1]


def test_a_class_name_occurs_once():
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in modules()]
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert not [name for name, count in names.items() if count > 1]


def test_functions_are_short():
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno < 60, f"{path}: {node.name}"
