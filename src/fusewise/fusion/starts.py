"""Where the loop starts. The problem is not convex, so this matters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.fusion.loop import lower_majoriser
from fusewise.fusion.problem import Problem
from fusewise.observations.entries import Values

STARTS = ("partial", "zero", "mean")

Init = str | npt.NDArray[Any]


def start(problem: Problem, init: Init, *, solver: str, min_overlap: int) -> Values:
    """Starting centres.

    ``"partial"``   weights from partial distances, then the minimum of the majoriser they give;
    ``"zero"``      u_i = S_i x_i, holes filled with zero;
    ``"mean"``      holes filled with the mean of the observed entries of the column;
    an array        as it is (moved into the constraint if there is one).
    """
    observations = problem.observations
    if isinstance(init, str):
        if init not in STARTS:
            raise ValueError(
                f"unknown init {init!r}: use one of {', '.join(map(repr, STARTS))}, or an array of centres"
            )
        centers = observations.fill(0 if init == "zero" else observations.column_means)
        if init == "partial":
            weighted = problem.pairs.weigh_partial(observations, problem.penalty, min_overlap)
            # The first weights come from no centres, so the majoriser is to be minimised, not merely lowered.
            centers = lower_majoriser(problem, weighted, centers, solver, effort=5)
        return centers
    centers = np.array(init, dtype=np.result_type(observations.values.dtype, np.asarray(init).dtype))
    if centers.shape != observations.shape:
        raise ValueError(f"init has shape {centers.shape}, but the table has shape {observations.shape}")
    if not np.isfinite(centers).all():
        raise ValueError("init must be finite: one whole centre for every point")
    if problem.fidelity.constrained:
        centers = problem.fidelity.prox(observations, centers, np.ones(len(centers)))
    return centers
