"""Arguments and options shared by several commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from fusewise.tables import ReadOptions

COLUMNS, MODEL, OUTPUT = "Columns", "Model", "Output"
_columns, _model, _output = (partial(typer.Option, rich_help_panel=panel) for panel in (COLUMNS, MODEL, OUTPUT))

TableFile = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="Table to read: CSV, TSV, Excel, Parquet, Feather/Arrow, Stata, SPSS, SAS, JSON lines or SQLite "
        "(FILE::TABLE), also compressed; - for standard input; a pattern such as 'part-*.parquet', or a folder, of "
        "Parquet or CSV parts.",
    ),
]


def _one(metavar: str, help_: str) -> Any:
    return Annotated[str | None, _columns(metavar=metavar, help=help_)]


def _several(metavar: str, help_: str) -> Any:
    return Annotated[list[str] | None, _columns(metavar=metavar, help=f"{help_} (may be repeated).")]


#: Options for reading a table; a command receives them together, as `asked`.
READING: dict[str, Any] = {
    "sheet": _one("NAME|NUMBER", "Sheet of an Excel file, by its name or its number from 1."),
    "sep": _one("CHARACTER", "Field separator of a text file: ',', ';', '|', 'tab', ... (default: detected)."),
    "decimal": _one(".|,", "Decimal separator (default: detected from all columns together)."),
    "skip_rows": Annotated[
        int | None, _columns(metavar="N", min=0, help="Lines above the header (default: detected).")
    ],
    "comment": _one("TEXT", "Leave out lines that start with this text (default: '#' at the start of a file)."),
    "missing": _several("MARKER|COLUMN=MARKER,...", "Additional marker of missing values: -99, or age=99,q1=9"),
    "below": _several("COLUMN[=LIMIT],...", "Missing values of a column lie below a limit, or its smallest value"),
    "columns": _several("COLUMNS", "Use only these columns: names or patterns (q_*), separated by commas"),
    "drop": _several("COLUMNS", "Columns to ignore"),
    "number": _several("COLUMNS", "Read columns as numbers"),
    "category": _several("COLUMNS", "Read columns as categories"),
    "ordered": _several("COLUMNS[:LOW<MID<HIGH]", "Read columns as ordered categories, of numbers or lowest first"),
    "labels": _one("COLUMN", "Column of known classes, used only to score the result; 'none' if there is none."),
    "names": _one("COLUMN", "Column with the names of the rows; 'none' if there is none."),
}


def reading(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of READING, except those named, to a command, which receives them as its argument `asked`."""
    names = [name for name in READING if name not in without]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        kept = [parameter for parameter in own.parameters.values() if parameter.name != "asked"]
        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=READING[name])
            for name in names
        ]

        @wraps(command)
        def run(**given: Any) -> None:
            shared_values = {name: given.pop(name) for name in names}
            command(**given, asked=as_read_options(**shared_values))

        run.__signature__ = own.replace(parameters=[*kept, *shared])  # type: ignore[attr-defined]
        run.__annotations__ = {}  # the signature has them, resolved
        return run

    return decorate


def as_read_options(
    *, number: list[str] | None = None, category: list[str] | None = None, ordered: list[str] | None = None,
    columns: list[str] | None = None, drop: list[str] | None = None, missing: list[str] | None = None,
    below: list[str] | None = None, skip_rows: int | None = None, **others: Any,
) -> ReadOptions:  # fmt: skip
    """Convert the values of the options to ``ReadOptions``."""
    from fusewise.support import InputError
    from fusewise.tables import ReadOptions, as_spec

    kinds = {name: as_spec(name, "number") for name in number or ()}
    kinds |= {name: as_spec(name, "category") for name in category or ()}
    for text in ordered or ():
        start, sign, rest = text.partition("<")
        name, colon, first = start.rpartition(":")
        if sign and not colon:
            raise InputError(f"--ordered {text!r}: expected a column, a colon and its levels: COLUMN:LOW<MID<HIGH")
        levels = [level.strip() for level in (first, *rest.split("<"))]
        kinds[name if sign else text] = as_spec(name, levels if sign else "ordered")
    return ReadOptions(
        missing=_markers(missing or ()), kinds=kinds, ignore=drop or (), only=columns or (),
        skip_rows=skip_rows or 0, below=numbers_of("--below", below or (), -float("inf"), needed=False), **others,
    )  # fmt: skip


def _pairs(given: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """The names and values of ``age=2,q_*=0.5``; without a sign the value is None."""
    for part in (part for text in given for part in text.split(",")):
        name, sign, value = part.rpartition("=")
        yield (name.strip(), value.strip()) if sign else (part.strip(), None)


def numbers_of(option: str, given: Sequence[str], least: float, *, needed: bool) -> dict[str, Any]:
    """Numbers by column, ``age=2,q_*=0.5``; None where there is only the column, unless a number is needed."""
    from fusewise.support import InputError

    numbers: dict[str, float | None] = {}
    for name, word in _pairs(given):
        try:
            number = None if word is None else float(word)
        except ValueError:
            number = float("nan")
        if needed if number is None else not least <= number < float("inf"):
            said, of = name if word is None else f"{name}={word}", " of at least 0" if least == 0 else ""
            raise InputError(f"{option} {said!r}: expected a column, '=' and a number{of}: age=2,q_*=0.5")
        numbers[name] = number
    return numbers


def _markers(given: Sequence[str]) -> dict[str, list[str]]:
    """Markers of missing values by column, ``age=99,q1=9``, or of all columns."""
    markers: dict[str, list[str]] = {}
    for text in given:
        for name, marker in _pairs([text]) if "=" in text else [("*", text)]:
            markers.setdefault(name, []).append(marker or "")
    return markers


Standardize = Annotated[bool, _columns("--standardize/--no-standardize", help="Standardise the columns first.")]

ClusterCount = Annotated[int | None, _model(metavar="K", help="Number of clusters (default: chosen from the data).")]
Outliers = Annotated[
    bool,
    _model("--outliers/--no-outliers", help="Leave rows far from every cluster in none, or give every row a cluster."),
]
_STABILITY = (
    "Refit random halves of the rows, and report how stable the clusters are (default: if that takes at most 10 s; "
    "--stability also writes stability.csv)."
)
Stability = Annotated[bool | None, _model("--stability/--no-stability", help=_STABILITY, show_default=False)]
Draws = Annotated[int, _model(metavar="N", min=1, help="Number of refits for --stability; Ctrl-C ends them early.")]
_WEIGHTS = "How often columns count: age=2,q_*=0.5 (may be repeated; default 1, and with 0 a column is not used)."
Weights = Annotated[list[str] | None, _model("--weight", metavar="COLUMNS=WEIGHT,...", help=_WEIGHTS)]
RandomSeed = Annotated[int | None, _model(min=0, help="Random seed.")]
_SCHEDULERS = "ADDRESS|local|threads|processes|synchronous"
_SCHEDULER = "Compute the parts of a table with Dask (default: local if they exceed memory)."
Scheduler = Annotated[str | None, _model(metavar=_SCHEDULERS, help=_SCHEDULER, show_default=False)]

Lam = Annotated[float | None, _model(help="Strength of the fusion penalty: larger values give fewer clusters.")]
PenaltyName = Annotated[str, _model(help="Fusion penalty: h1, lp, l1, mcp, scad, truncated_l2 or geman_mcclure.")]
Sigma = Annotated[float | None, _model(help="Scale of the penalty: the distance beyond which it levels off.")]
FidelityName = Annotated[str, _model(help="How centres are tied to the data: quadratic, box or ball.")]
Epsilon = Annotated[float | None, _model(help="Width of the box, or radius of the ball, for --fidelity.")]
_RANK = "Dimension of the subspace to fuse in; none: use all columns."
Rank = Annotated[str, _model(metavar="R|none|auto", help=_RANK)]
_NEIGHBORS = "Number of nearest neighbours to fuse each row with; none: all pairs."
Neighbors = Annotated[str, _model(metavar="K|none|auto", help=_NEIGHBORS)]
MaxIter = Annotated[int, _model(min=1, help="Maximum number of iterations for each value of lam.")]

Target = Annotated[float, typer.Option(help="Probability of recovery to aim for.")]

OutFolder = Annotated[Path | None, _output(metavar="DIR", help="Folder for the results (default: TABLE_fusewise).")]
LabelsFile = Annotated[Path | None, _output(metavar="FILE", help="File to write (default: TABLE_labels.csv).")]
CompletedFile = Annotated[Path | None, _output(metavar="FILE", help="File to write (default: TABLE_completed.csv).")]
PathFile = Annotated[Path | None, _output(metavar="FILE", help="File to write (default: TABLE_path.csv).")]
PictureFile = Annotated[Path | None, _output(metavar="FILE", help="Also draw the path to a .png, .svg or .pdf file.")]
_PARTITION = "Also write the cluster of each row in the chosen partition."
PartitionFile = Annotated[Path | None, _output(metavar="FILE", help=_PARTITION)]
_LIKE = "Earlier model, written by --save: clusters keep its numbers as far as they match."
Like = Annotated[Path | None, _model(metavar="MODEL", help=_LIKE)]
RowNames = Annotated[
    list[str], typer.Option("--row", metavar="NAME", help="Name of a row, or its number from 1 (may be repeated).")
]
SaveModel = Annotated[Path | None, _output(metavar="MODEL", help="Also save the model, for `fusewise predict`.")]
Report = Annotated[bool, _output("--report", help="Also write an HTML report, DIR/report.html.")]
OpenReport = Annotated[bool, _output("--open", help="Write the report, and open it in your browser.")]
NoRows = Annotated[bool, _output("--no-rows", help="Keep all rows out of the report: it shows groups only.")]
_NAMES = "File with the columns cluster and name, such as an edited centers.csv: names of the clusters."
ClusterNames = Annotated[Path | None, _output("--name-clusters", metavar="FILE", help=_NAMES)]
Overwrite = Annotated[bool, _output("--force", help="Overwrite existing results.")]
_SAFE = "Put ' before text that a spreadsheet would run as a formula; quote all cells."
SafeCsv = Annotated[bool, _output("--safe-csv", help=_SAFE)]
Json = Annotated[bool, _output("--json", help="Print the result as JSON.")]
_VERBOSE = "Print more detail, or errors only."
Verbose = Annotated[bool | None, _output("--verbose/--quiet", help=_VERBOSE, show_default=False)]
