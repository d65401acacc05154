"""Arguments and options of ``fusewise plan``."""

from __future__ import annotations

from typing import Annotated

import typer

from fusewise.cli import options


def plan(
    clusters: Annotated[int, typer.Option(help="Number of clusters.")],
    size: Annotated[int, typer.Option(help="Number of rows in each cluster.")],
    features: Annotated[int, typer.Option(help="Number of features.")],
    kappa: Annotated[float, typer.Option(help="Width of the clusters divided by the distance between them.")],
    coherence: Annotated[
        float,
        typer.Option(help="mu0, from 1 (all features separate the clusters equally) to --features (one feature does)."),
    ],
    observed: Annotated[float, typer.Option(help="Fraction of the entries that will be observed.")] = 1.0,
    target: options.Target = 0.95,
    uniform: options.Uniform = False,
    json: options.Json = False,
) -> None:
    """Compute the fraction of entries that must be observed to recover clusters of a given geometry."""
    from fusewise.cli.running.planning import planned_geometry, promised
    from fusewise.cli.showing import guarantees

    geometry = planned_geometry(clusters, size, features, kappa, coherence)
    guarantees.show(geometry, promised(geometry, observed, target, uniform), uniform, json=json)
