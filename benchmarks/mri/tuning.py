"""The best parameters of a baseline by the ground truth: a walk on a grid until every step away from the best is worse.

The best is thus never on an edge: the grid has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

#: Decibels that a step must gain to be taken: flat ends are not walked along.
GAIN = 0.01


def tune(
    name: str,
    method: Callable[..., Any],
    quality: Callable[[Any], float],
    ladder: Mapping[str, tuple[float, float]],
) -> dict[str, Any]:
    """The best parameters of a method by the quality of what it returns, in decibels; all that is tried is printed.

    Parameters
    ----------
    name, method : what is tuned.
    quality : of what the method returns.
    ladder : where to begin and the factor of a step, for each parameter.
    """

    def score(**settings: float) -> float:
        found = quality(method(**settings))
        print(f"  tuning {name} {settings}: {found:.2f} dB", flush=True)
        return found

    return climb(score, {key: start for key, (start, _) in ladder.items()}, {key: f for key, (_, f) in ladder.items()})


def climb(score: Callable[..., float], start: Mapping[str, Any], factors: Mapping[str, float]) -> dict[str, Any]:
    """The parameters with the highest score among start * factor ** whole numbers, up and down, one at a time.

    Parameters
    ----------
    score : of the parameters, by name; the higher the better.
    start : where to begin; whole numbers stay whole, and at least 1.
    factors : the step of each parameter.
    """
    scores: dict[tuple[Any, ...], float] = {}

    def at(rungs: tuple[int, ...]) -> dict[str, Any]:
        values = {name: start[name] * factors[name] ** rung for name, rung in zip(start, rungs, strict=True)}
        return {name: max(1, round(v)) if isinstance(start[name], int) else v for name, v in values.items()}

    def judged(rungs: tuple[int, ...]) -> float:
        settings = at(rungs)
        key = tuple(settings.values())
        if key not in scores:
            scores[key] = score(**settings)
        return scores[key]

    best = (0,) * len(start)
    while True:
        steps = [(*best[:k], best[k] + way, *best[k + 1 :]) for k in range(len(best)) for way in (-1, 1)]
        ahead = max(steps, key=judged)
        if judged(ahead) < judged(best) + GAIN:
            return at(best)
        best = ahead
