"""Writing the report of a fitted model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from fusewise.support.files import refuse_to_overwrite, write_whole
from fusewise.views.findings import Findings, read_findings
from fusewise.views.report.page import render


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    *,
    names: Sequence[Any] | npt.NDArray[Any] | None = None,
    feature_names: Sequence[Any] | npt.NDArray[Any] | None = None,
    title: str | None = None,
    units: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    command: str | None = None,
    force: bool = False,
) -> Path:
    """Write the result of a fitted model to a self-contained HTML file.

    Parameters
    ----------
    model : a fitted ``FusionClustering``.
    path : the file to write. Its folder must exist; the file must not, unless `force`.
    names : names of the rows; by default their numbers, from 0.
    feature_names : names of the columns; by default those of the table, or x0, x1, ...
    title : heading of the page.
    units : (shift, scale), numbers or one per column, if the table was standardised before the fit: values are shown
        as value * scale + shift.
    command : command that reproduces the report; by default Python code is shown.
    force : overwrite an existing file.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    OSError
        If the file cannot be written or already exists; no partial file is left behind.
    ImportError
        If Jinja2 is missing: ``pip install "fusewise[report]"``.
    """
    target = Path(path)
    refuse_to_overwrite(target, force=force)
    found = read_findings(model, names=names, feature_names=feature_names, units=units)
    write_page(found, target, title=title, command=command)
    return target


def write_page(
    found: Findings, path: Path, *, title: str | None = None, command: str | None = None, table: str | None = None
) -> None:
    """Write findings to a page; see ``write_report``. Files saved from it are named after `table`, or the page."""
    page = render(found, title=title or "Clustering report", file=path.name, command=command, table=table)
    write_whole(path, page.encode(errors="replace"))  # file names need not be valid Unicode
