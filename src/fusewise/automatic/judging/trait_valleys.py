"""Whether the rows of a class differ by degrees along a trait, or fall into groups with a valley between them.

A trait has a normal distribution in each class (``models.traits``). Two groups that differ in all columns at once are
described by one class with a strong trait nearly as well as by two classes, and at a lower price; but their rows are
at its ends, and few are between. With p_ig the density of row i at place g along the trait (log p is smooth, and is
interpolated between the nodes of the model), the weights v of the places are estimated twice, free and with one hump:

    E = max_v l(v) - max_{v with one hump} l(v),    l(v) = sum_i log sum_g v_g p_ig.

The places at both ends have any weight: all rows that lie beyond are counted there. The rows show a valley if
E > log N, the price of a cut that was chosen among N.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.interpolate import CubicSpline
from sklearn.isotonic import isotonic_regression

from fusewise.automatic.models.joined import Joined
from fusewise.kernels.types import Floats, Real
from fusewise.observations import InMemory

#: Places along the trait for each node of the model.
BETWEEN = 4
#: EM of weights ends at this gain, in nats, or after so many rounds.
GAIN, ROUNDS = 0.01, 200


def node_densities(table: InMemory, single: Joined) -> Real:
    """log p_ig of a single class with a trait, at the nodes of its model."""
    return np.asarray(single.parts.log_densities(table)[0] - np.log(single.parts.shares))


def valley_along(log_densities: Real) -> float:
    """E, from log p_ig at the nodes of the model, N x G in their order."""
    nodes = np.arange(log_densities.shape[1])
    places = np.linspace(0, nodes[-1], BETWEEN * nodes[-1] + 1)
    at_places = CubicSpline(nodes, log_densities, axis=1)(places)
    densities = np.exp(at_places - at_places.max(axis=1, keepdims=True))
    humps = (_climb(densities, partial(with_hump, top=top)) for top in range(1, len(places) - 1))
    return _climb(densities, np.asarray) - max(humps)


def with_hump(counts: Floats, top: int) -> Floats:
    """The likeliest expected counts that rise up to `top` and fall from there on; those at the ends are left alone."""
    inside = counts[1:-1]
    rising = isotonic_regression(inside[:top], increasing=True)
    falling = isotonic_regression(inside[top:], increasing=False) if top < len(inside) else []
    return np.concatenate([counts[:1], rising, falling, counts[-1:]])


def _climb(densities: Real, shaped: Callable[[Floats], Floats]) -> float:
    """The largest l(v) by EM; `shaped` makes counts those of the shape that is asked for."""
    weights = np.full(densities.shape[1], 1 / densities.shape[1])
    best = -np.inf
    for _ in range(ROUNDS):
        each = densities * weights
        total = each.sum(axis=1)
        fit = float(np.log(total).sum())
        if fit - best < GAIN:
            break
        best = fit
        counts = shaped((1 / total) @ each)
        weights = counts / counts.sum()
    return best
