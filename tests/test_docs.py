"""Every Python block of the guide runs, page by page, and so do the docstring examples."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    page for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if "```python" in page.read_text()
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.S | re.M)
    names = {"__name__": page.stem}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_files_that_are_named_exist(page):
    named = re.findall(r"`((?:tests|benchmarks|examples|src)/[\w/]+\.py)\b", page.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    "name",
    [
        "fusewise.estimators._clustering",
        "fusewise.estimators._imputer",
        "fusewise.estimators._penalized",
        "fusewise.fusion._fuse",
        "fusewise.exact._solve",
    ],
)
def test_docstring_examples(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
