"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

COLUMNS, MODEL, OUTPUT = "Columns", "Model", "Output"

TableFile = Annotated[Path, typer.Argument(metavar="TABLE", help="CSV, TSV, Parquet, Feather/Arrow or Excel.")]

Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Leave a column out (may be repeated).", rich_help_panel=COLUMNS),
]
Names = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="The column that names the rows; 'none': there is none.", rich_help_panel=COLUMNS
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Known classes, to score against; 'none': there are none.", rich_help_panel=COLUMNS
    ),
]
Standardize = Annotated[
    bool,
    typer.Option(
        "--standardize/--no-standardize",
        help="Bring columns to one scale (on what was observed).",
        rich_help_panel=COLUMNS,
    ),
]

Clusters = Annotated[
    int | None, typer.Option(metavar="K", help="How many clusters; the data say if not you.", rich_help_panel=MODEL)
]
PenaltyName = Annotated[
    str, typer.Option(help="h1, lp, l1, mcp, scad, truncated_l2 or geman_mcclure.", rich_help_panel=MODEL)
]
Sigma = Annotated[float | None, typer.Option(help="Scale of the penalty.", rich_help_panel=MODEL)]
Lam = Annotated[float | None, typer.Option(help="Strength of fusion.", rich_help_panel=MODEL)]
FidelityName = Annotated[str, typer.Option(help="quadratic, box or ball.", rich_help_panel=MODEL)]
Epsilon = Annotated[float | None, typer.Option(help="Width of the box, or radius of the ball.", rich_help_panel=MODEL)]
Rank = Annotated[
    str, typer.Option(metavar="R|none|auto", help="Dimension of the space to fuse in.", rich_help_panel=MODEL)
]
Neighbors = Annotated[
    str,
    typer.Option(
        metavar="K|none|auto", help="Fuse along a graph of so many neighbours; none: all pairs.", rich_help_panel=MODEL
    ),
]
MaxIter = Annotated[int, typer.Option(min=1, help="Most iterations for each strength.", rich_help_panel=MODEL)]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of random choices.", rich_help_panel=MODEL)]

Force = Annotated[bool, typer.Option("--force", help="Replace results that are there.", rich_help_panel=OUTPUT)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.", rich_help_panel=OUTPUT)]
Verbose = Annotated[
    bool | None,
    typer.Option(
        "--verbose/--quiet", help="Say more, or nothing but errors.", show_default=False, rich_help_panel=OUTPUT
    ),
]

Target = Annotated[float, typer.Option(help="Probability to be reached.")]
Uniform = Annotated[bool, typer.Option("--uniform", help="Assume that points fill their clusters uniformly.")]
