"""Errors of our own: exit code 1, a message that says that it is a bug and what to send; no other error is one."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import fusewise
from fusewise import FusionClustering
from fusewise.cli import main

PACKAGE = Path(fusewise.__file__).parent

#: Errors that NumPy, Python and SciPy raise in code that is wrong. The first three are ValueErrors, as bad input is.
FAULTS = {
    "shapes": lambda: np.ones(2) + np.ones(3),
    "an empty array": lambda: np.zeros(0).max(),
    "a singular matrix": lambda: np.linalg.cholesky(-np.eye(2)),
    "an index": lambda: [][0],
    "a type": lambda: None + 1,
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("signal.signal", lambda *handler: None)  # those of the process stay
    (tmp_path / "t.csv").write_text("a,b\n1,2\n2,1\n8,9\n9,8\n")
    FusionClustering().fit(np.array([[1, 2], [2, 1], [8, 9], [9, 8.0]])).save(tmp_path / "m.fusewise")
    return tmp_path


def ended(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    return end.value.code, capsys.readouterr().err


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("command", ["fit", "predict", "impute"])
def test_a_bug_is_said_to_be_one(place, command, fault, monkeypatch, capsys):
    def fail(*args, **options):
        FAULTS[fault]()

    monkeypatch.setattr("fusewise.estimators._result.choose", fail)
    monkeypatch.setattr("fusewise.automatic.Classifier.classify", fail)
    before = sorted(place.iterdir())
    code, said = ended([command, *(["m.fusewise"] if command == "predict" else []), "t.csv"], capsys)
    assert code == 1
    last = said.splitlines()[-1]
    assert "this is a bug of fusewise, not a fault of your input" in last
    for sent in ("issues", "the lines above", "the command", f"fusewise {fusewise.__version__}", "the table"):
        assert sent in last
    assert "Traceback" in said
    assert sorted(place.iterdir()) == before


def test_bad_input_is_not(place, capsys):
    code, said = ended(["fit", "t.csv", "--n-clusters", "5"], capsys)
    assert code == 2
    assert "--n-clusters 5 is more than the 4 rows" in said
    assert "bug" not in said
    plan = "plan --clusters 3 --size 200 --features 50 --kappa -1 --coherence 2"
    code, said = ended(plan.split(), capsys)
    assert code == 2
    assert "--kappa" in said
    code, said = ended(["fit", "t.csv", "--seed", str(2**40)], capsys)
    assert code == 2
    assert "bug" not in said


def test_what_is_raised_for_bad_input_is_an_input_error():
    """A plain ValueError would be taken for a bug. The parts of a model file are checked by functions named here."""
    internal = {"_verify", "_agree", "_verify_linkage", "check_coordinates"}
    apart = {
        "kernels",
        "support",
        "saving",
    }  # rules of fields, and of model files, which ``load`` reports
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] in apart:
            continue
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef) and function.name not in internal:
                raised = [node for node in ast.walk(function) if isinstance(node, ast.Raise) and node.exc is not None]
                wrong += [f"{path.name}:{r.lineno}" for r in raised if ast.unparse(r.exc).startswith("ValueError(")]
    assert not wrong
