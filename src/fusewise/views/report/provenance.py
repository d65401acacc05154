"""How the result came about: convergence, settings, versions, and the lines that make it again."""

from __future__ import annotations

import hashlib
import inspect
import platform
from importlib.metadata import version
from typing import Any

import numpy as np

import fusewise
from fusewise.automatic import Choice
from fusewise.fusion.path import FusionPath
from fusewise.kernels.words import counted, readable
from fusewise.views.findings import Findings

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def convergence(found: Findings) -> list[str]:
    """Whether the computation came to its end."""
    model = found.model
    if isinstance(found.path, Choice):
        first = f"{counted(len(found.path.criteria), 'partition')} of the merge tree compared"
        how = "to the end" if model.converged_ else "until it was interrupted: the best so far was taken"
        return [f"{first}, {how}. Rows were placed in {counted(int(model.rank_), 'dimension')}."]
    settled = "Converged" if model.converged_ else "Not converged"
    said = [f"{settled} after {counted(model.n_iter_, 'iteration')} at lam = {readable(model.lam_)}."]
    if isinstance(found.path, FusionPath):
        done, points = int(found.path.converged.sum()), len(found.path)
        said.append(f"{done} of the {points} points of the path converged.")
    return said


def settings(found: Findings) -> list[tuple[str, str]]:
    """What was asked for, and what was used where that was left open."""
    model = found.model
    asked = [(name, _value(value)) for name, value in model.get_params(deep=False).items()]
    used = [
        ("lam used", readable(model.lam_)),
        ("penalty used", repr(model.penalty_)),
        ("fidelity used", repr(model.fidelity_)),
        ("rank used", str(model.rank_)),
        ("noise level", readable(model.noise_)),
        ("objective", readable(model.objective_)),
    ]
    return asked + used


def versions() -> list[tuple[str, str]]:
    """Of everything the numbers depend on."""
    ours = [("fusewise", fusewise.__version__), ("python", platform.python_version())]
    return ours + [(name, version(name)) for name in LIBRARIES] + [("machine", platform.platform(terse=True))]


def rerun(found: Findings, file: str) -> str:
    """The lines that make the same report from the same table X."""
    model = found.model
    defaults = {name: p.default for name, p in inspect.signature(type(model).__init__).parameters.items()}
    changed = [(k, v) for k, v in model.get_params(deep=False).items() if _value(v) != _value(defaults.get(k))]
    arguments = ", ".join(f"{name}={_value(value)}" for name, value in changed)
    kind = type(model).__name__
    return f"from fusewise import {kind}\n\nmodel = {kind}({arguments}).fit(X)\nmodel.report({file!r})"


def fingerprint(found: Findings) -> str:
    """SHA-256 of the table the model saw, rows of 8-byte numbers with NaN for holes: is it the same table?"""
    table = np.ascontiguousarray(np.where(found.mask, found.values, np.nan), dtype="<f8")
    return hashlib.sha256(table.tobytes()).hexdigest()


def _value(value: Any) -> str:
    """A parameter in code; arrays only by their shape."""
    return f"<array of shape {value.shape}>" if isinstance(value, np.ndarray) else repr(value)
