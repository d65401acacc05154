"""``fusewise plan``."""

from __future__ import annotations

from typing import Annotated

import typer

from fusewise.cli import options


def plan(
    clusters: Annotated[int, typer.Option(help="Number of clusters.")],
    size: Annotated[int, typer.Option(help="Points in each.")],
    features: Annotated[int, typer.Option(help="Number of features.")],
    kappa: Annotated[float, typer.Option(help="Width of the clusters over the distance between them.")],
    coherence: Annotated[float, typer.Option(help="1: all features tell clusters apart alike; --features: one does.")],
    observed: Annotated[float, typer.Option(help="Fraction of entries that will be observed.")] = 1.0,
    target: options.Target = 0.95,
    uniform: options.Uniform = False,
    json: options.Json = False,
) -> None:
    """How much must be observed for clusters like these to be found?"""
    from fusewise.cli.running.planning import planned_geometry, promised
    from fusewise.cli.showing import guarantees as promises

    geometry = planned_geometry(clusters, size, features, kappa, coherence)
    promises.show(geometry, promised(geometry, observed, target, uniform), uniform, json=json)
