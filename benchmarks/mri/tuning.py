"""The best parameters of a baseline by the ground truth: a walk on a grid until every step away from the best is worse.

The best is thus never on an edge: the grid has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

#: Decibels that a step must gain to be taken: flat ends are not walked along.
GAIN = 0.01


def tune(score: Callable[..., float], ladder: Mapping[str, tuple[Any, float]]) -> dict[str, Any]:
    """The parameters with the highest score among start * factor ** whole numbers, up and down, one at a time.

    Parameters
    ----------
    score : of the parameters, by name; the higher the better.
    ladder : (start, factor) of each parameter; whole numbers stay whole, and at least 1.
    """
    scores: dict[tuple[Any, ...], float] = {}

    def at(rungs: tuple[int, ...]) -> dict[str, Any]:
        steps = zip(ladder.items(), rungs, strict=True)
        values = {name: (start, start * factor**rung) for (name, (start, factor)), rung in steps}
        return {name: max(1, round(v)) if isinstance(start, int) else v for name, (start, v) in values.items()}

    def judged(rungs: tuple[int, ...]) -> float:
        settings = at(rungs)
        key = tuple(settings.values())
        if key not in scores:
            scores[key] = score(**settings)
        return scores[key]

    best = (0,) * len(ladder)
    while True:
        steps = [(*best[:k], best[k] + way, *best[k + 1 :]) for k in range(len(best)) for way in (-1, 1)]
        ahead = max(steps, key=judged)
        if judged(ahead) < judged(best) + GAIN:
            return at(best)
        best = ahead
