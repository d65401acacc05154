"""The benchmark that leaves rules out: what it names exists, and is called where it is replaced."""

import sys
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from unittest.mock import patch

import numpy as np
import pytest

from fusewise import FusionClustering
from fusewise.automatic import proposals, rare, sample, search

pd = pytest.importorskip("pandas")
FOLDER = Path(__file__).parents[1] / "benchmarks"
if not FOLDER.exists():
    pytest.skip("no benchmarks beside these tests", allow_module_level=True)
sys.path.insert(0, str(FOLDER))
import ablation  # noqa: E402

sys.path.remove(str(FOLDER))
TARGETS = [(rule, f"fusewise.automatic.{target}") for rule, targets in ablation.RULES.items() for target in targets]


def calls(rule):
    """How often a fit calls each function that some rule is, with one rule left out."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) + 8.0 * rng.integers(2, size=(200, 1))
    with ExitStack() as stack:
        stack.enter_context(patch.object(sample, "SAMPLE", 150))  # so that rare clusters are looked for
        spies = {
            target: stack.enter_context(patch(target, autospec=True, side_effect=resolve_name(target)))
            for _, target in TARGETS
            if callable(resolve_name(target))
        }
        stack.enter_context(ablation.changed(rule))
        model = FusionClustering(random_state=0).fit(X)
    assert model.n_clusters_ >= 2
    return {target: spy.call_count for target, spy in spies.items()}


def test_a_fit_follows_every_rule():
    assert all(calls(ablation.AS_IT_IS).values())


@pytest.mark.parametrize("rule", ablation.RULES)
def test_a_rule_left_out_is_not_followed(rule):
    called = calls(rule)
    assert not [target for own, target in TARGETS if own == rule and called.get(target)]


def test_each_proposal_is_left_out_once():
    left = [targets["proposals.PROPOSALS"] for targets in ablation.RULES.values() if "proposals.PROPOSALS" in targets]
    missing = [set(proposals.PROPOSALS) - set(others) for others in left]
    assert [len(each) for each in missing] == [1] * len(proposals.PROPOSALS)
    assert set().union(*missing) == set(proposals.PROPOSALS)


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
        assert (search.LARGEST_RANK, proposals.LARGEST_RANK, rare.LARGEST_RANK) == (8, 8, 8)


def test_columns_have_the_types_that_their_folder_states(tmp_path):
    (tmp_path / "a.csv").write_text("size,grade,kind,class\n1.5,2,1,x\n,10,None,y\n2,,1,x\n")
    (tmp_path / "types.json").write_text('{"a": {"columns": ["number", "ordered", "category"]}}')
    X, y = ablation.read_frame(tmp_path / "a.csv")
    assert y.tolist() == [0, 1, 0]
    assert X["size"].isna().tolist() == [False, True, False]
    assert X["grade"].cat.ordered
    assert X["grade"].cat.categories.tolist() == [2, 10]
    assert X["kind"].cat.categories.tolist() == ["1", "None"]
    assert not X["kind"].cat.ordered
