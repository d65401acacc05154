"""How the result was computed, and the guarantee that such clusters are recovered."""

from __future__ import annotations

import hashlib
import inspect
import platform
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np

import fusewise
from fusewise.automatic import Choice
from fusewise.fusion import FusionPath
from fusewise.support import counted, readable
from fusewise.theory import ClusterGeometry, Promise, promise, success_probability
from fusewise.views._findings import Findings

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def convergence(found: Findings) -> list[str]:
    """Sentences on whether the computation converged."""
    model = found.model
    if isinstance(found.path, Choice):
        tree = "of the merge tree"
        compared = counted(len(found.path.criteria), f"partition {tree} was", f"partitions {tree} were") + " compared"
        how = "" if model.converged_ else " before an interruption, and the best of them was chosen"
        placed = f"Rows were placed in a subspace of {counted(int(model.rank_), 'dimension')}{_of_what(found.path)}."
        return [f"{compared}{how}. {placed}", *_searched(found, found.path)]
    state = "Converged" if model.converged_ else "Not converged"
    said = [f"{state} after {counted(model.n_iter_, 'iteration')} at lam = {readable(model.lam_)}."]
    if isinstance(found.path, FusionPath):
        done, points = int(found.path.converged.sum()), len(found.path)
        said.append(f"{done} of the {points} points of the path converged.")
    return said


def _of_what(choice: Choice) -> str:
    """Which columns rows are placed by, if these are not all as they are."""
    return "" if choice.units.powers is None else " of the columns, made symmetric"


def _searched(found: Findings, choice: Choice) -> list[str]:
    """A sentence on the rows that were searched for clusters, if these are not all with an observed entry."""
    seen = np.setdiff1d(np.arange(len(found.labels)), found.blank, assume_unique=True)
    if len(choice.rows) >= len(seen):
        return []
    some = f"a random sample of {len(choice.rows):,} rows out of {len(seen):,}"
    return [f"The clusters were found in {some}; the other rows were then assigned to them."]


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
    return f"from fusewise import {kind}\n\nmodel = {kind}({arguments}).fit(X)\nmodel.report({file!r})"


def fingerprint(found: Findings) -> str:
    """SHA-256 of the table as 8-byte floats, row by row, with NaN for missing entries."""
    table = np.ascontiguousarray(np.where(found.mask, found.values, np.nan), dtype="<f8")
    return hashlib.sha256(table.tobytes()).hexdigest()


def _value(value: Any) -> str:
    """A parameter as Python code; arrays are given only by their shape."""
    return f"<array of shape {value.shape}>" if isinstance(value, np.ndarray) else repr(value)


#: Maximum number of rows whose pairs are measured: more would take longer than the fit.
MOST_MEASURED = 1_500
#: Maximum number of entries compared over all pairs; wide tables are measured on fewer rows.
MOST_WORK = 1e8
#: Observed fractions for which the guarantee is tabulated.
FRACTIONS = tuple(np.round(np.arange(0.05, 1.0001, 0.05), 2))


@dataclass(frozen=True, eq=False)
class Promised:
    """A recovery guarantee and the measurements behind it.

    Attributes
    ----------
    sentences : the guarantee in words.
    result : the numbers, or None if nothing could be measured.
    curve : (observed fraction, guaranteed probability); empty if there is no guarantee at any fraction.
    measured : number of rows whose pairs were measured.
    """

    sentences: tuple[str, ...]
    result: Promise | None
    curve: tuple[tuple[float, float], ...]
    measured: int


def _measured_in(found: Findings, observed: float) -> list[str]:
    """What was measured: the features of the model, which are more than the columns of a table with categories."""
    if found.n_clusters < 2:
        return []
    n, p = len(found.features), len(found.columns)
    of = "" if n == p else f" of the model (of {counted(p, 'column')}: a category has a feature for each level)"
    return [
        f"Measured in {counted(n, 'feature')}{of}, with {observed:.1%} of the values of the clustered rows observed."
    ]


def promise_for(found: Findings, most_measured: int = MOST_MEASURED) -> Promised:
    """Measure the clusters in the model's units, on a sample of the rows if there are many."""
    inside = np.flatnonzero(found.labels >= 0)
    if not len(inside):
        return Promised(("No row is in a cluster, so there is no recovery guarantee.",), None, (), 0)
    most = min(most_measured, int(np.sqrt(MOST_WORK / found.values.shape[1])))
    rows = inside if len(inside) <= most else np.sort(np.random.default_rng(0).choice(inside, most, replace=False))
    try:
        geometry = ClusterGeometry.from_data(found.values[rows] / found.unit, found.labels[rows])
    except ValueError as error:
        return Promised((f"No recovery guarantee can be computed: {error}.",), None, (), len(rows))
    sizes = tuple(int(n) for n in found.sizes[np.unique(found.labels[rows])])
    geometry = replace(geometry, sizes=sizes, observed=float(found.seen[inside].mean()))
    result = promise(geometry)
    chances = np.atleast_1d(success_probability(geometry, FRACTIONS))
    sentences = (*_measured_in(found, geometry.observed), *result.sentences[1:])
    if len(rows) < len(inside):
        sentences += (
            f"Distances were measured on a random sample of {len(rows):,} of the {len(inside):,} clustered rows. Other "
            "pairs of rows may be closer; the true guarantee is then weaker.",
        )
    worth_drawing = geometry.n_clusters > 1 and bool((chances > 0).any())
    curve = tuple((float(fraction), float(chance)) for fraction, chance in zip(FRACTIONS, chances, strict=True))
    return Promised(sentences, result, curve if worth_drawing else (), len(rows))
