"""``fusewise fit``: cluster a table with holes, fill them, and write what was found."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from fusewise import DataWarning, FusionClustering
from fusewise.cli.columns import Roles, sort_columns
from fusewise.cli.encoding import Encoding, center_table, complete, encode, in_dialect
from fusewise.cli.errors import InputError, blaming_input, stopping_at_once
from fusewise.cli.reading import Cells, Table, read_table
from fusewise.cli.writing import staged, write_csv
from fusewise.fidelity import FIDELITIES, Ball, Box, Fidelity, as_fidelity
from fusewise.penalties import PENALTIES, Penalty, as_penalty

FILES = ("labels.csv", "completed.csv", "centers.csv")


@dataclass(frozen=True)
class Model:
    """The user's choices for the clustering, as given on the command line.

    ``epsilon`` is the width of the box, or the radius of the ball; text stands for what is left to the library.
    """

    n_clusters: int | None = None
    penalty: str = "h1"
    sigma: float | None = None
    lam: float | None = None
    fidelity: str = "quadratic"
    epsilon: float | None = None
    rank: str = "auto"
    neighbors: str = "auto"
    max_iter: int = 500
    seed: int | None = None

    def build(self, verbose: int = 0) -> FusionClustering:
        """The estimator, every choice checked before any work is done."""
        if self.n_clusters is not None and self.n_clusters < 1:
            raise InputError(f"--n-clusters must be at least 1, got {self.n_clusters}")
        if self.lam is not None and not 0 <= self.lam < np.inf:
            raise InputError(f"--lam must be a non-negative number, got {self.lam:g}")
        return FusionClustering(
            penalty=self._penalty(),
            fidelity=self._fidelity(),
            lam="auto" if self.lam is None else self.lam,
            rank=_count("--rank", self.rank),
            n_neighbors=_count("--neighbors", self.neighbors),
            n_clusters=self.n_clusters,
            max_iter=self.max_iter,
            random_state=self.seed,
            verbose=verbose,
        )

    def _penalty(self) -> Penalty:
        known = [name for name, kind in PENALTIES.items() if kind.has_weight]
        if self.penalty.lower() not in known:
            raise InputError(f"unknown --penalty {self.penalty!r}: use one of {', '.join(known)}")
        penalty = as_penalty(self.penalty)
        if self.sigma is None:
            return penalty
        if not hasattr(penalty, "sigma"):
            raise InputError(f"--sigma: the penalty {self.penalty!r} has no scale")
        with blaming_input({"sigma": "--sigma"}):
            return penalty.replace(sigma=self.sigma)

    def _fidelity(self) -> Fidelity:
        if self.fidelity.lower() not in FIDELITIES:
            raise InputError(f"unknown --fidelity {self.fidelity!r}: use one of {', '.join(FIDELITIES)}")
        fidelity = as_fidelity(self.fidelity)
        if self.epsilon is None:
            return fidelity
        if not 0 <= self.epsilon < np.inf:
            raise InputError(f"--epsilon must be a non-negative number, got {self.epsilon:g}")
        if isinstance(fidelity, Box):
            return Box(self.epsilon)
        if isinstance(fidelity, Ball):
            return Ball(self.epsilon)
        raise InputError(f"--epsilon needs --fidelity box or ball; {self.fidelity!r} has no width")


@dataclass(frozen=True, eq=False)
class Fit:
    """What was found, ready to be shown."""

    table: Table
    roles: Roles
    encoding: Encoding
    model: FusionClustering
    seconds: float
    ari: float | None
    notes: list[str]
    files: list[Path]

    @property
    def sizes(self) -> list[int]:
        """Rows in each cluster."""
        return _sizes(self.model)

    @property
    def outliers(self) -> int:
        """Rows in none."""
        return int(np.count_nonzero(self.model.labels_ < 0))


def run_fit(path: Path, out: Path, model: Model, *, force: bool, columns: dict[str, Any], standardize: bool,
            verbose: int = 0) -> Fit:  # fmt: skip
    """Read, cluster, write.

    Parameters
    ----------
    path, out : the table, and the folder for the results.
    columns : drop, names, labels: see ``sort_columns``.
    """
    estimator = model.build(verbose)
    table = read_table(path)
    if table.n_rows < 2:
        raise InputError(f"{str(path)!r} has one row: clustering needs at least two")
    if model.n_clusters is not None and model.n_clusters > table.n_rows:
        raise InputError(f"--n-clusters {model.n_clusters} is more than the {table.n_rows} rows of {str(path)!r}")
    roles = sort_columns(table, **columns)
    encoding = encode(roles.used, standardize=standardize)
    with staged(out, FILES, force=force, source=path) as stage:
        started = time.perf_counter()
        notes = table.notes + _blank_notes(encoding, roles) + _fit(estimator, encoding.matrix)
        seconds = time.perf_counter() - started
        _write(stage, table, roles, encoding, estimator)
    notes += _unmet(model, estimator)
    ari = None if roles.labels_column is None else _agreement(table.columns[roles.labels_column], estimator.labels_)
    return Fit(table, roles, encoding, estimator, seconds, ari, notes, [out / name for name in FILES])


def _fit(estimator: FusionClustering, matrix: npt.NDArray[np.float64]) -> list[str]:
    """Fit, and return what there is to say about it."""
    with warnings.catch_warnings(record=True) as caught, blaming_input(), stopping_at_once():
        warnings.simplefilter("always")
        estimator.fit(matrix)
    notes = [] if estimator.converged_ else ["not converged: take the result with care, or raise --max-iter"]
    # Blank rows are reported with their names, convergence by its outcome; features here are not the user's columns.
    ours = (ConvergenceWarning, DataWarning)
    return notes + sorted({str(w.message) for w in caught if not issubclass(w.category, ours)})


def _blank_notes(encoding: Encoding, roles: Roles) -> list[str]:
    blank = encoding.blank_rows
    if not len(blank):
        return []
    shown = ", ".join(str(name) for name in roles.names[blank[:5]]) + (", ..." if len(blank) > 5 else "")
    rows = "1 row has" if len(blank) == 1 else f"{len(blank)} rows have"
    return [f"{rows} no observed entry ({shown}): labelled -1, as they could belong anywhere"]


def _unmet(model: Model, estimator: FusionClustering) -> list[str]:
    """What was asked for and did not come about."""
    notes = []
    if model.n_clusters not in (None, estimator.n_clusters_):
        why = ": a fixed --lam decides how many there are" if model.lam is not None else ""
        notes.append(f"{model.n_clusters} clusters were asked for, {estimator.n_clusters_} found{why}")
    if model.rank not in ("auto", "none") and str(estimator.rank_) != model.rank:
        notes.append(f"--rank {model.rank} was not used: this version fuses in the space of all features")
    return notes


def _write(folder: Path, table: Table, roles: Roles, encoding: Encoding, estimator: FusionClustering) -> None:
    name = roles.names_column or "row"
    labels: dict[str, Cells] = {
        f"{name}_" if name == "label" else name: roles.names,
        "label": estimator.labels_.astype(object),
    }
    confidence = getattr(estimator, "confidence_", None)
    if confidence is not None:
        shown = [in_dialect(round(float(value), 4), table.dialect) for value in confidence]
        labels["confidence"] = np.array(shown, dtype=object)
    centers = center_table(encoding, estimator.cluster_centers_, _sizes(estimator), table.dialect)
    for file, columns in zip(FILES, (labels, complete(table, encoding, estimator.fused_), centers), strict=True):
        write_csv(folder / file, columns, table.dialect)


def _agreement(cells: Cells, labels: npt.NDArray[np.intp]) -> float | None:
    """Adjusted Rand index on the rows whose class is known; outliers count as one group."""
    known = np.array([cell is not None for cell in cells])
    if not known.any():
        return None
    return float(adjusted_rand_score([str(cell) for cell in cells[known]], labels[known]))


def _sizes(estimator: FusionClustering) -> list[int]:
    labels = estimator.labels_
    return [int(n) for n in np.bincount(labels[labels >= 0], minlength=estimator.n_clusters_)]


def _count(option: str, value: str) -> int | str | None:
    """A positive number, "auto", or None for "none"."""
    word = value.lower()
    if word in ("auto", "none"):
        return None if word == "none" else word
    if not (value.isdecimal() and int(value) > 0):
        raise InputError(f"{option} must be a positive whole number, 'none' or 'auto', got {value!r}")
    return int(value)
