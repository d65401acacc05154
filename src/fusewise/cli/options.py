"""Arguments and options that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from fusewise.tables.read_options import ReadOptions

COLUMNS, MODEL, OUTPUT = "Columns", "Model", "Output"

TableFile = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Excel, Parquet, Feather, JSON lines, SQLite (FILE::TABLE), also compressed; -: standard input.",
    ),
]


def _one(metavar: str, help_: str) -> Any:
    return Annotated[str | None, typer.Option(metavar=metavar, help=help_, rich_help_panel=COLUMNS)]


def _several(metavar: str, help_: str) -> Any:
    return Annotated[
        list[str] | None, typer.Option(metavar=metavar, help=f"{help_} (may be repeated).", rich_help_panel=COLUMNS)
    ]


#: Options that say how a table is to be read; a command gets them together, as `asked`.
READING: dict[str, Any] = {
    "sheet": _one("NAME|NUMBER", "The sheet of an Excel file, by its name or its number from 1."),
    "sep": _one(
        "CHARACTER", "What separates the fields of a text file: ',', ';', '|', 'tab', ...; found if not given."
    ),
    "decimal": _one(".|,", "The decimal sign; found from all columns together if not given."),
    "missing": _several("MARKER", "A further marker of missing values, such as -99"),
    "columns": _several("COLUMN", "Use only these columns; commas may separate them"),
    "drop": _several("COLUMN", "Leave a column out"),
    "number": _several("COLUMN", "Read a column as numbers"),
    "category": _several("COLUMN", "Read a column as categories"),
    "ordered": _several("COLUMN:LOW<MID<HIGH", "Read a column as ordered categories, the lowest first"),
    "labels": _one("COLUMN", "Known classes, to score against; 'none': there are none."),
    "names": _one("COLUMN", "The column that names the rows; 'none': there is none."),
}


def reading(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of READING, but those named, to a command, which gets them together as its argument `asked`."""
    names = [name for name in READING if name not in without]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        kept = [parameter for parameter in own.parameters.values() if parameter.name != "asked"]
        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=READING[name])
            for name in names
        ]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            told = {name: given.pop(name) for name in names}
            command(**given, asked=as_read_options(**told))

        run.__signature__ = own.replace(parameters=[*kept, *shared])  # type: ignore[attr-defined]
        run.__annotations__ = {}  # the signature has them, resolved
        return run

    return decorate


def as_read_options(
    *, number: list[str] | None = None, category: list[str] | None = None, ordered: list[str] | None = None,
    columns: list[str] | None = None, drop: list[str] | None = None, missing: list[str] | None = None, **others: Any,
) -> ReadOptions:  # fmt: skip
    """What the options say of a table, as the reader takes it."""
    from fusewise.tables.errors import InputError
    from fusewise.tables.read_options import ReadOptions, as_spec

    kinds = {name: as_spec(name, "number") for name in number or ()}
    kinds |= {name: as_spec(name, "category") for name in category or ()}
    for text in ordered or ():
        start, sign, rest = text.partition("<")
        name, colon, first = start.rpartition(":")
        if not (sign and colon):
            raise InputError(f"--ordered {text!r}: write the column, a colon, and its levels: COLUMN:LOW<MID<HIGH")
        kinds[name] = as_spec(name, [level.strip() for level in (first, *rest.split("<"))])
    return ReadOptions(missing=missing or (), kinds=kinds, ignore=drop or (), only=columns or (), **others)


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
