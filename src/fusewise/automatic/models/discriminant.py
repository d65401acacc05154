"""A discriminant of classes: logistic regression with a ridge, on top of what is known of the rows already.

Row i is of class b with probability

    P(b | i) = exp(o_ib + w_b' x_i + c_b) / sum_c exp(o_ic + w_c' x_i + c_c)

where o_ib are given log-odds, and W, c minimise

    - sum_i log P(b_i | i) + |W|² / (2 s) + |c|² / 2.

With the strength s = 0 the given odds stay as they are; the larger it is, the more the columns say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from fusewise.kernels.types import Index, Real

#: Most steps of L-BFGS, and the part of the loss by which it must fall in one.
STEPS, TOL = 200, 1e-7


class Discriminant(NamedTuple):
    """W (Q x M) and c (M)."""

    weights: Real
    intercepts: Real

    def log_classes(self, rows: Real, odds: Real) -> Real:
        """log P(b | i), N x M, of rows (N x Q) with given log-odds (N x M)."""
        return np.asarray(log_softmax(odds + rows @ self.weights + self.intercepts, axis=1))


def fit_discriminant(
    rows: Real, classes: Index, odds: Real, strength: float, start: Discriminant | None = None
) -> Discriminant:
    """Fit W and c to rows of known classes.

    W lies in the span of the rows, so that it has no more unknowns than these where there are more columns.

    Parameters
    ----------
    rows : N x Q.
    classes : of each row, 0 .. M-1.
    odds : N x M, the o_ib.
    strength : s.
    start : where to begin, such as a fit of another strength to the same rows.
    """
    (n, q), m = rows.shape, odds.shape[1]
    if strength == 0:
        return Discriminant(np.zeros((q, m)), np.zeros(m))
    axes, within = np.linalg.qr(rows.T) if q > n else (None, rows.T)
    x, first = within.T, np.zeros((min(n, q) + 1, m))
    if start is not None:
        first[:-1], first[-1] = start.weights if axes is None else axes.T @ start.weights, start.intercepts
    is_of = classes[:, None] == np.arange(m)

    def loss(unknowns: Real) -> tuple[float, Real]:
        weights, intercepts = unknowns[:-m].reshape(-1, m), unknowns[-m:]
        logs = Discriminant(weights, intercepts).log_classes(x, odds)
        away = np.exp(logs) - is_of
        ridge = np.square(weights).sum() / strength + np.square(intercepts).sum()
        slope = np.concatenate([(x.T @ away + weights / strength).ravel(), away.sum(axis=0) + intercepts])
        return float(0.5 * ridge - logs[is_of].sum()), slope

    best = minimize(loss, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS, "ftol": TOL}).x
    weights = best[:-m].reshape(-1, m)
    return Discriminant(weights if axes is None else axes @ weights, best[-m:])
