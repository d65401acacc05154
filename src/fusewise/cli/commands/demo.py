"""Arguments and options of ``fusewise demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fusewise.cli import options


def demo(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the results.", rich_help_panel=options.OUTPUT)
    ] = Path("fusewise_demo"),
    hidden: Annotated[float, typer.Option(help="Fraction of the entries to hide, from 0 to 0.9.")] = 0.3,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for choosing the hidden entries.")] = 0,
    force: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Hide entries of an example table, cluster it, and compare the filled values with the hidden ones.

    The table is scikit-learn's Wine data: 178 wines with 13 measurements. The cultivars are used only to score the
    result.
    """
    from fusewise.cli.running.demonstration import run_demo

    run_demo(out, hidden=hidden, seed=seed, force=force, json=json)
