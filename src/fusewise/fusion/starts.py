"""Where the loop starts. The problem is not convex, so this matters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.fusion.loop import lower_majoriser
from fusewise.fusion.problem import Problem
from fusewise.fusion.setup import Posed
from fusewise.kernels.arrays import Array, beside
from fusewise.subspace import coordinates

STARTS = ("partial", "zero", "mean", "subspace")

Init = str | npt.NDArray[Any]


def start(posed: Posed, problem: Problem, init: Init, *, solver: str, min_overlap: int) -> Array:
    """Starting centres, in the coordinates of the problem and where its arrays live.

    ``"partial"``   weights from partial distances, then the minimum of the majoriser they give;
    ``"zero"``      u_i = S_i x_i, holes filled with zero;
    ``"mean"``      holes filled with the mean of the observed entries of the column;
    ``"subspace"``  the likeliest coordinates of each row (needs a rank);
    an array        as it is (moved into the constraint if there is one).
    """
    if not isinstance(init, str):
        return _from_array(posed, problem, np.asarray(init))
    if init not in STARTS:
        raise ValueError(f"unknown init {init!r}: use one of {', '.join(map(repr, STARTS))}, or an array of centres")
    entries = posed.entries
    if init == "subspace":
        if posed.subspace is None:
            raise ValueError("init='subspace' starts from coordinates in a subspace: give a rank")
        places = coordinates(posed.subspace, entries)[0]
        return beside(places, problem.observations.target)
    filled = posed.coordinates(entries.fill(0 if init == "zero" else entries.column_means))
    centers = beside(filled, problem.observations.target)
    if init == "partial":
        weighted = problem.pairs.weigh_partial(entries, problem.penalty, min_overlap)
        # The first weights come from no centres, so the majoriser is to be minimised, not merely lowered.
        centers = lower_majoriser(problem, weighted, centers, solver, effort=5)
    return centers


def _from_array(posed: Posed, problem: Problem, init: npt.NDArray[Any]) -> Array:
    """Centres given for all rows of the table."""
    if init.shape != posed.table.shape:
        raise ValueError(f"init has shape {init.shape}, but the table has shape {posed.table.shape}")
    if not np.isfinite(init).all():
        raise ValueError("init must be finite: one whole centre for every point")
    centers = posed.coordinates(init[~posed.blank].astype(np.result_type(posed.table.values.dtype, init.dtype)))
    if problem.fidelity.constrained:
        centers = problem.fidelity.prox(problem.observations, centers, np.ones(len(centers)))
    return beside(centers, problem.observations.target)
