"""``fusewise demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fusewise.cli import options


def demo(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the results.", rich_help_panel=options.OUTPUT)
    ] = Path("fusewise_demo"),
    hidden: Annotated[float, typer.Option(help="Fraction of the entries to hide.")] = 0.3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the holes.")] = 0,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Hide entries of a known table, cluster it, and compare with what was hidden.

    The table is scikit-learn's Wine: 178 wines by 13 measurements. The cultivars are used to score the result, never
    to find it.
    """
    from fusewise.cli.running.demonstration import run_demo

    run_demo(out, hidden=hidden, seed=seed, force=force, json=json)
