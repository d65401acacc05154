"""Starting centres of the loop, which matter because the problem is not convex."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.fusion.loop import lower_majoriser
from fusewise.fusion.problem import Problem
from fusewise.fusion.setup import Posed
from fusewise.kernels.arrays import Array, beside
from fusewise.kernels.input_errors import InputError
from fusewise.subspace import coordinates

STARTS = ("partial", "zero", "mean", "subspace")

Init = str | npt.NDArray[Any]


def start(posed: Posed, problem: Problem, init: Init, *, solver: str, min_overlap: int) -> Array:
    """Starting centres, in the coordinates of the problem and on its device.

    ``"partial"``   weights from partial distances, then the minimum of the majoriser they give;
    ``"zero"``      u_i = S_i x_i, missing values set to zero;
    ``"mean"``      missing values set to the mean of the observed entries of the column;
    ``"subspace"``  the most likely coordinates of each row (needs a rank);
    an array        used unchanged (projected onto the constraint if there is one).
    """
    if not isinstance(init, str):
        return _from_array(posed, problem, np.asarray(init))
    if init not in STARTS:
        raise InputError(f"unknown init {init!r}: use one of {', '.join(map(repr, STARTS))}, or an array of centres")
    entries = posed.entries
    if init == "subspace":
        if posed.subspace is None:
            raise InputError("init='subspace' needs a subspace: set rank")
        places = coordinates(posed.subspace, entries)[0]
        return beside(places, problem.observations.target)
    filled = posed.coordinates(entries.fill(0 if init == "zero" else entries.column_means))
    centers = beside(filled, problem.observations.target)
    if init == "partial":
        weighted = problem.pairs.weigh_partial(entries, problem.penalty, min_overlap)
        # The first weights do not come from centres, so the majoriser is minimised, not merely lowered.
        centers = lower_majoriser(problem, weighted, centers, solver, effort=5)
    return centers


def _from_array(posed: Posed, problem: Problem, init: npt.NDArray[Any]) -> Array:
    """Starting centres from an array with one row for each row of the table."""
    if init.shape != posed.table.shape:
        raise InputError(f"init has shape {init.shape}, but the table has shape {posed.table.shape}")
    if not np.isfinite(init).all():
        raise InputError("init must be finite: one complete centre for every row")
    centers = posed.coordinates(init[~posed.blank].astype(np.result_type(posed.table.values.dtype, init.dtype)))
    if problem.fidelity.constrained:
        centers = problem.fidelity.prox(problem.observations, centers, np.ones(len(centers)))
    return beside(centers, problem.observations.target)
