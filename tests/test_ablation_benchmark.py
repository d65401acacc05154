"""The benchmark that leaves rules out: what it names exists, and is called where it is replaced."""

import sys
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name

import pytest

from fusewise.automatic import _rare as rare
from fusewise.automatic import _search as search

pd = pytest.importorskip("pandas")
FOLDER = Path(__file__).parents[1] / "benchmarks"
if not FOLDER.exists():
    pytest.skip("no benchmarks beside these tests", allow_module_level=True)
sys.path.insert(0, str(FOLDER))
import ablation  # noqa: E402

sys.path.remove(str(FOLDER))


@pytest.mark.parametrize("target", [target for targets in ablation.RULES.values() for target in targets])
def test_what_a_rule_replaces_exists(target):
    assert resolve_name(f"fusewise.automatic.{target}") is not None


@pytest.mark.parametrize("name", ablation.CONSTANTS)
def test_a_constant_changes_and_returns(name):
    module, values = ablation.CONSTANTS[name]
    home = import_module(f"fusewise.automatic.{module}")
    used = getattr(home, name)
    assert len(set(values)) == 5
    assert values[2] == used
    with ablation.changed(f"{name}={values[0]}"):
        assert getattr(home, name) == values[0]
        assert type(getattr(home, name)) is type(used)
    assert getattr(home, name) == used


def test_a_constant_changes_in_all_modules_that_import_it():
    with ablation.changed("LARGEST_RANK=8"):
        assert (search.LARGEST_RANK, rare.LARGEST_RANK) == (8, 8)


def test_each_proposal_is_left_out_once():
    left = [targets["_search.PROPOSALS"] for targets in ablation.RULES.values() if "_search.PROPOSALS" in targets]
    missing = [set(search.PROPOSALS) - set(others) for others in left]
    assert [len(each) for each in missing] == [1] * len(search.PROPOSALS)
    assert set().union(*missing) == set(search.PROPOSALS)
