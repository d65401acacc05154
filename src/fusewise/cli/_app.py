"""The application with all its commands.

The module of a command imports nothing expensive, so that ``--help`` and completion are fast; the numerical libraries
are imported when the command runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

import fusewise
from fusewise.cli._commands import bench, demo, fit, guarantee, impute, path, plan, predict
from fusewise.cli._exits import guarded
from fusewise.cli._mri import app as mri
from fusewise.cli._options import PAPER_OPTIONS
from fusewise.cli._reproduce import reproduce

app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", pretty_exceptions_enable=False)

CLUSTER, GUARANTEE, TRY = "Cluster and fill tables", "Recovery guarantees", "Demonstration and benchmarks"

EXAMPLES: dict[Callable[..., None], tuple[str, str]] = {
    fit: (CLUSTER, "fusewise fit penguins.csv --out penguins --labels species --report --save penguins.fusewise"),
    predict: (CLUSTER, "fusewise predict penguins.fusewise new_penguins.csv"),
    impute: (CLUSTER, "fusewise impute penguins.csv --out penguins_filled.csv"),
    path: (CLUSTER, "fusewise path penguins.csv"),
    guarantee: (GUARANTEE, "fusewise guarantee penguins.csv --labels penguins/labels.csv"),
    plan: (GUARANTEE, "fusewise plan --clusters 3 --size 200 --features 50 --kappa 0.4 --coherence 2"),
    demo: (TRY, "fusewise demo --out demo"),
    reproduce: (TRY, "fusewise reproduce fig7 --quick"),
    bench: (TRY, "fusewise bench --rows 500 --hidden 0.5"),
}


class DefaultMethodCommand(TyperCommand):
    """A command of the default method, which names the command that has the options of the paper's algorithm."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; refuse options of the paper's algorithm in plain words."""
        given = [name for name in (arg.partition("=")[0] for arg in args) if name in PAPER_OPTIONS]
        if given:
            ctx.fail(f"{given[0]} is a setting of the paper's algorithm: use `fusewise path`.")
        return super().parse_args(ctx, args)


def _version(asked: bool) -> None:
    if asked:
        print(f"fusewise {fusewise.__version__}")
        raise typer.Exit


@app.callback()
def fusewise_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Cluster tables with missing values, fill in the missing values, and compute recovery guarantees."""


for _command, (_panel, _example) in EXAMPLES.items():
    _kind = DefaultMethodCommand if _command in (fit, impute) else TyperCommand
    app.command(cls=_kind, rich_help_panel=_panel, epilog=f"Example: `{_example}`")(guarded(_command))

app.add_typer(mri, name="mri", rich_help_panel="Dynamic MRI")
