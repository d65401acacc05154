"""How the result was computed, and how to compute it again."""

from __future__ import annotations

import hashlib
import inspect
import platform
from importlib.metadata import version
from typing import Any

import numpy as np

import fusewise
from fusewise.automatic import Choice
from fusewise.fusion import Fidelity, FusionPath, Penalty
from fusewise.support import counted, readable
from fusewise.views._findings import Findings

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def convergence(found: Findings) -> list[str]:
    """Sentences on whether the computation converged, and on which rows it was made."""
    model, path = found.model, found.path
    if not isinstance(path, Choice):
        state = "Converged" if model.converged_ else "Not converged"
        said = [f"{state} after {counted(model.n_iter_, 'iteration')} at lam = {readable(model.lam_)}."]
        if isinstance(path, FusionPath):
            said.append(f"{int(path.converged.sum())} of the {len(path)} points of the path converged.")
        return said
    tree = "of the merge tree"
    compared = counted(len(path.criteria), f"partition {tree} was", f"partitions {tree} were") + " compared"
    how = "" if model.converged_ else " before an interruption, and the best of them was chosen"
    symmetric = "" if path.units.powers is None else " of the columns, made symmetric"
    placed = f"Rows were placed in a subspace of {counted(int(model.rank_), 'dimension')}{symmetric}."
    said, n_seen = [f"{compared}{how}. {placed}"], len(found.labels) - len(found.blank)
    if len(path.rows) < n_seen:
        some = f"a random sample of {len(path.rows):,} rows out of {n_seen:,}"
        said.append(f"The clusters were found in {some}; the other rows were then assigned to them.")
    return said


def settings(found: Findings) -> list[tuple[str, str]]:
    """The parameters of the model, and the values used for those left to the library."""
    model = found.model
    asked = [(name, _value(value)) for name, value in model.get_params(deep=False).items()]
    if isinstance(found.path, Choice):
        return [*asked, ("rank used", str(model.rank_)), ("noise level", readable(model.noise_))]
    used = [
        ("lam used", readable(model.lam_)),
        ("penalty used", repr(model.penalty_)),
        ("fidelity used", repr(model.fidelity_)),
        ("rank used", str(model.rank_)),
        ("objective", readable(model.objective_)),
    ]
    return asked + used


def versions() -> list[tuple[str, str]]:
    """Versions of the software the numbers depend on."""
    ours = [("fusewise", fusewise.__version__), ("python", platform.python_version())]
    return ours + [(name, version(name)) for name in LIBRARIES] + [("machine", platform.platform(terse=True))]


def rerun(found: Findings, file: str) -> str:
    """Python code that reproduces the report from the same table X."""
    model = found.model
    defaults = {name: p.default for name, p in inspect.signature(type(model).__init__).parameters.items()}
    changed = [(k, v) for k, v in model.get_params(deep=False).items() if _value(v) != _value(defaults.get(k))]
    arguments = ", ".join(f"{name}={_value(value)}" for name, value in changed)
    kind = type(model).__name__
    imports = [f"from fusewise import {kind}"]
    for room, of in (("fidelity", Fidelity), ("penalties", Penalty)):
        imports += [
            f"from fusewise.{room} import {type(value).__name__}" for _, value in changed if isinstance(value, of)
        ]
    lines = "\n".join(imports)
    return f"{lines}\n\nmodel = {kind}({arguments}).fit(X)\nmodel.report({file!r})"


def fingerprint(found: Findings) -> str:
    """SHA-256 of the table as 8-byte floats, row by row, with NaN for missing entries."""
    table = np.ascontiguousarray(np.where(found.mask, found.values, np.nan), dtype="<f8")
    return hashlib.sha256(table.tobytes()).hexdigest()


def _value(value: Any) -> str:
    """A parameter as Python code; arrays are given only by their shape."""
    return f"<array of shape {value.shape}>" if isinstance(value, np.ndarray) else repr(value)
