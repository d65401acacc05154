"""Command ``fusewise reproduce``: recompute the paper's figures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from fusewise.cli._exits import Stop
from fusewise.cli._terminal import Terminal, headed
from fusewise.progress import Printer
from fusewise.support import InputError

FIGURES = ("fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "fig8")
ALL = "all"
STYLES = {"agrees": "green", "agrees in part": "yellow", "differs": "red"}

Figure = Annotated[str, typer.Argument(metavar="FIGURE", help=f"Figure to reproduce: {', '.join(FIGURES)} or all.")]
Quick = Annotated[bool, typer.Option("--quick", help="Run fewer and smaller trials, in minutes instead of hours.")]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder for the page, the figures and the trials.")]
Jobs = Annotated[int | None, typer.Option(min=1, metavar="N", help="Number of processes (default: one per processor).")]
Overwrite = Annotated[bool, typer.Option("--force", help="Recompute every trial, and overwrite an existing page.")]


def reproduce(
    figure: Figure = ALL,
    quick: Quick = False,
    out: Out = Path("fusewise_paper"),
    jobs: Jobs = None,
    force: Overwrite = False,
) -> None:
    """Reproduce the figures of the paper, and compare its claims with the results.

    Writes a self-contained index.html, the figures and numbers.json. Finished trials are kept in DIR/trials: after an
    interruption, the same command resumes from there.
    """
    names = FIGURES if figure == ALL else (figure,)
    if figure not in (*FIGURES, ALL):
        raise InputError(f"unknown figure {figure!r}: use one of {', '.join(FIGURES)} or all")
    _refuse_foreign(out, force)
    try:
        from fusewise.reproduce import PAGE
        from fusewise.reproduce import reproduce as run
    except ImportError as error:  # it names what to install
        raise InputError(str(error)) from error
    start = time.perf_counter()
    try:
        with Printer() as progress:
            findings = run(names, out, quick=quick, jobs=jobs, fresh=force, progress=progress)
    except (KeyboardInterrupt, Stop):
        raise Stop("finished trials are kept, and the same command resumes") from None
    except OSError as error:
        raise InputError(f"cannot write to {str(out)!r}: {error.strerror or error}") from error
    console = Terminal()
    grid = headed("figure", "claim of the paper", "", left=("figure", "claim of the paper"))
    for name, found in findings.items():
        for k, claim in enumerate(found.claims):
            grid.add_row("" if k else name, claim.paper, f"[{STYLES[claim.verdict]}]{claim.verdict}[/]")
    console.print(grid)
    console.print(f"\n{out / PAGE} written in {time.perf_counter() - start:.0f} s", soft_wrap=True, markup=False)


def _refuse_foreign(out: Path, force: bool) -> None:
    """Raise if the folder holds files that this command did not write, unless `force`."""
    if out.exists() and not out.is_dir():
        raise InputError(f"cannot write to {str(out)!r}: it is a file, not a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / "trials").is_dir() and not force:
        raise InputError(f"folder {str(out)!r} contains other files: choose another --out, or add --force")
