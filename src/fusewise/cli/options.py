"""Arguments and options shared by several commands."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

COLUMNS, MODEL, OUTPUT = "Columns", "Model", "Output"
_columns, _model, _output = (partial(typer.Option, rich_help_panel=panel) for panel in (COLUMNS, MODEL, OUTPUT))

TableFile = Annotated[
    Path, typer.Argument(metavar="TABLE", help="Table to read: CSV, TSV, Parquet, Feather/Arrow or Excel.")
]

Drop = Annotated[list[str] | None, _columns(metavar="COLUMN", help="Column to ignore (may be repeated).")]
Names = Annotated[
    str | None, _columns(metavar="COLUMN", help="Column with the names of the rows; 'none' if there is none.")
]
LabelsColumn = Annotated[
    str | None,
    _columns(metavar="COLUMN", help="Column of known classes, used only to score the result; 'none' if there is none."),
]
Standardize = Annotated[
    bool, _columns("--standardize/--no-standardize", help="Standardise the columns (using the observed values).")
]

ClusterCount = Annotated[int | None, _model(metavar="K", help="Number of clusters (default: chosen from the data).")]
PenaltyName = Annotated[str, _model(help="Fusion penalty: h1, lp, l1, mcp, scad, truncated_l2 or geman_mcclure.")]
Sigma = Annotated[float | None, _model(help="Scale of the penalty: the distance beyond which it levels off.")]
Lam = Annotated[float | None, _model(help="Strength of the fusion penalty: larger values give fewer clusters.")]
FidelityName = Annotated[str, _model(help="How centres are tied to the data: quadratic, box or ball.")]
Epsilon = Annotated[float | None, _model(help="Width of the box, or radius of the ball, for --fidelity.")]
Rank = Annotated[
    str, _model(metavar="R|none|auto", help="Dimension of the subspace to fuse in; none: use all columns.")
]
Neighbors = Annotated[
    str, _model(metavar="K|none|auto", help="Number of nearest neighbours to fuse each row with; none: all pairs.")
]
MaxIter = Annotated[int, _model(min=1, help="Maximum number of iterations for each value of lam.")]
RandomSeed = Annotated[int | None, _model(min=0, help="Random seed.")]

Overwrite = Annotated[bool, _output("--force", help="Overwrite existing results.")]
Json = Annotated[bool, _output("--json", help="Print the result as JSON.")]
Verbose = Annotated[
    bool | None, _output("--verbose/--quiet", help="Print more detail, or errors only.", show_default=False)
]

Target = Annotated[float, typer.Option(help="Probability of recovery to aim for.")]
Uniform = Annotated[
    bool, typer.Option("--uniform", help="Assume that rows are distributed uniformly within their clusters.")
]

OutFolder = Annotated[Path | None, _output(metavar="DIR", help="Folder for the results (default: TABLE_fusewise).")]
Report = Annotated[bool, _output("--report", help="Also write an HTML report, DIR/report.html.")]
SaveModel = Annotated[Path | None, _output(metavar="MODEL", help="Also save the model, for `fusewise predict`.")]
