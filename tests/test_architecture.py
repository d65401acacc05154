"""The dependency rule, and the page that explains it."""

import ast
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
    assert len(named) > 20
    missing = [path for path in named if not ((ROOT if path.startswith("tests/") else PACKAGE) / path).exists()]
    assert not missing


def test_names_in_docstrings_exist():
    """Every name in double backticks is a name, or part of a text, of the code outside of docstrings."""
    known, quoted = set(), []
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        known.update(path.relative_to(PACKAGE).with_suffix("").parts)
        documented = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
        docstrings = [text for node in documented if (text := ast.get_docstring(node, clean=False))]
        quoted += [(path, name) for text in docstrings for name in re.findall(r"``([A-Za-z_][\w.]{3,})``", text)]
        for node in ast.walk(tree):
            own = [getattr(node, field, None) for field in ("id", "attr", "arg", "name", "asname", "module", "value")]
            known.update(
                *(re.findall(r"\w+", text) for text in own if isinstance(text, str) and text not in docstrings)
            )
    parts = [(path, part) for path, name in quoted for part in name.split(".")]
    stale = [(path.name, part) for path, part in parts if part not in known and not known.issuperset(part.split("__"))]
    assert len(quoted) > 200
    assert not stale
