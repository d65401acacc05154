"""The centre of a group with fidelity u' G u - 2 h' u, and the rise of the fidelity if two groups share a centre."""

from __future__ import annotations

from math import sqrt
from typing import Any

from fusewise.kernels.compiling import compiled


@compiled(fastmath=False)
def _factor(gram: Any, a: int, b: int, work: Any) -> None:
    """Cholesky factor of G_a + G_b (of G_a, if they are the same) in the first rows of `work`."""
    for i in range(len(gram[a])):
        row, one, other = work[i], gram[a][i], gram[b][i]
        for j in range(i + 1):
            s, above = one[j], work[j]
            if a != b:
                s += other[j]
            for k in range(j):
                s -= row[k] * above[k]
            row[j] = sqrt(max(s, 1e-300)) if i == j else s / above[j]


@compiled(fastmath=False)
def settle_centre(gram: Any, target: Any, centre: Any, node: Any, slot: int, work: Any) -> None:
    """Update a node's centre G^-1 h, its drift (path length), and its size |G|."""
    r = len(work) - 3
    _factor(gram, slot, slot, work)
    square, moved, solved, place = 0.0, 0.0, work[r], centre[slot]
    for i in range(r):
        s, row, own = target[slot][i], work[i], gram[slot][i]
        for k in range(i):
            s -= row[k] * solved[k]
        solved[i] = s / row[i]
        for k in range(r):
            square += own[k] * own[k]
    for i in range(r - 1, -1, -1):
        s = solved[i]
        for k in range(i + 1, r):
            s -= work[k][i] * solved[k]
        solved[i] = s / work[i][i]
        way = solved[i] - place[i]
        moved += way * way
        place[i] = solved[i]
    node.size = sqrt(square)
    node.drift += sqrt(moved)


@compiled(fastmath=False)
def rise(gram: Any, centre: Any, a: int, b: int, work: Any) -> float:
    """d' G_a (G_a + G_b)^-1 G_b d with d = u_a - u_b: the rise of the fidelity if two nodes share a centre."""
    r = len(work) - 3
    _factor(gram, a, b, work)
    total, away, one, other = 0.0, work[r], work[r + 1], work[r + 2]
    for i in range(r):
        away[i] = centre[a][i] - centre[b][i]
    for i in range(r):
        s, t, row, here, there = 0.0, 0.0, work[i], gram[a][i], gram[b][i]
        for k in range(r):
            s += here[k] * away[k]
            t += there[k] * away[k]
        for k in range(i):
            s -= row[k] * one[k]
            t -= row[k] * other[k]
        one[i], other[i] = s / row[i], t / row[i]
        total += one[i] * other[i]
    return max(total, 0.0)
