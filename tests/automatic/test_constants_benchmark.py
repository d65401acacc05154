"""``benchmarks/constants.py`` changes a constant in every module that uses it, and in no other."""

import importlib
import re
import sys
from pathlib import Path

import pytest

import fusewise

FOLDER = Path(__file__).parents[2] / "benchmarks"
SOURCES = Path(fusewise.__file__).parent


@pytest.fixture(scope="module")
def constants():
    """The script; scripts import each other by bare names."""
    if not FOLDER.exists():
        pytest.skip("no benchmarks beside these tests")
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module("constants")
    sys.path.remove(str(FOLDER))


def importers(module, name):
    """By another route: the text of the files, whose import statements name module and constant."""
    statement = re.compile(rf"^from {re.escape(module)} import (\([^)]*\)|[^\n]*)", re.MULTILINE)
    for path in sorted(SOURCES.rglob("*.py")):
        if any(re.search(rf"\b{name}\b", found) for found in statement.findall(path.read_text(encoding="utf-8"))):
            yield ".".join(["fusewise", *path.relative_to(SOURCES).with_suffix("").parts])


def test_every_constant_is_changed_wherever_it_is_imported(constants):
    several = 0
    for place, name, values in constants.CONSTANTS:
        module = f"fusewise.automatic.{place}"
        users = [module, *importers(module, name)]
        before = [getattr(importlib.import_module(user), name) for user in users]
        assert set(before) == {values[2]}, "the middle value is the one in use"
        with constants.changed(module, name, -7):
            assert {getattr(importlib.import_module(user), name) for user in users} == {-7}
            assert len(constants.holders(module, name)) == len(users)
        assert [getattr(importlib.import_module(user), name) for user in users] == before
        several += len(users) > 1
    assert several >= 3, "some are imported"


def test_a_constant_of_the_same_name_and_value_is_another_one(constants):
    with constants.changed("fusewise.automatic.judging.together", "CHANCE", -7):
        assert importlib.import_module("fusewise.automatic.coordinates.gaps").CHANCE == 0.05
