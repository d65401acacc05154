"""The report: the result of a model as a self-contained HTML file (data -> JSON -> template)."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import fusewise
from fusewise.automatic import Choice
from fusewise.fusion import Fidelity, FusionPath, Penalty
from fusewise.support import InputError, counted, readable, refuse_to_overwrite, write_whole
from fusewise.theory import ClusterGeometry, promise, success_probability
from fusewise.views import _sentences as words
from fusewise.views._certainty import UNCERTAIN, cluster_confidence
from fusewise.views._colours import SYMBOLS, colour, shape
from fusewise.views._contrasts import LEAST_VALUES, Contrast
from fusewise.views._description import how_sure
from fusewise.views._findings import Findings, read_findings
from fusewise.views._payload import partitions_of, payload, to_json

#: Clusters and columns beyond the first so many are folded.
MOST_CLUSTERS, MOST_COLUMNS = 12, 30
#: Maximum number of columns in the table of a cluster, and in the table of important columns.
MOST_LINES, MOST_IMPORTANT = 20, 200


def _lines(found: Findings, k: int) -> list[dict[str, Any]]:
    """The columns of a cluster that set it apart most."""
    contrasts = found.contrasts.clusters[k][:MOST_LINES]
    return [_line(contrast, found) for contrast in contrasts if found.rows or contrast.effect]


def _observed(found: Findings, k: int) -> str:
    """The share of the values of a cluster that were observed."""
    return f"{found.seen[found.labels == k].mean():.0%}" if found.sizes[k] else "–"


def _line(contrast: Contrast, found: Findings) -> dict[str, Any]:
    """A column of a cluster against the other rows."""
    effect, column = contrast.effect, found.columns[contrast.column]
    inside, outside = contrast.inside, contrast.outside
    values, mean, center = ["–", "–"], "–", "–"
    if column.scaled:
        values = words.value_words(column, inside.median, outside.median)
        mean = "–" if column.within else readable(inside.mean)
        center = readable(contrast.center[0]) if len(contrast.center) == 1 else "–"
    elif effect is not None:
        values = [f"{contrast.level}: {effect.parts[0]:.0%}", f"{effect.parts[1]:.0%}"]
        place = list(map(str, column.levels)).index(str(contrast.level))
        center = f"{contrast.center[place]:.0%}" if place < len(contrast.center) and found.rows else "–"
    return {
        "name": contrast.name,
        "inside": values[0],
        "outside": values[1],
        "mean": mean,
        "center": center,
        "effect": "–" if effect is None else _signed(effect.value),
        "interval": "" if effect is None else f"{_signed(effect.low)} to {_signed(effect.high)}",
        "measure": "" if effect is None else effect.name,
        "differs": contrast.differs,
        "missing": [f"{inside.missing:.0%}", f"{outside.missing:.0%}"],
    }


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


#: The scripts of the page, in order of their dependencies.
SCRIPTS = (
    "data.js", "theme.js", "scales.js", "surface.js", "state.js", "export.js", "picture.js", "rows.js", "map.js",
    "map_controls.js", "tree_keys.js", "cluster_map.js", "contrasts.js", "charts.js", "path_charts.js", "path.js",
    "main.js",
)  # fmt: skip
STYLES = ("style.css", "paper.css")
WEB = files("fusewise.views") / "web"


def _ours(name: str) -> str:
    """A file of this package."""
    return (WEB / name).read_text("utf-8")


def write_report(
    model: Any,
    path: str | os.PathLike[str],
    *,
    names: Sequence[Any] | npt.NDArray[Any] | None = None,
    feature_names: Sequence[Any] | npt.NDArray[Any] | None = None,
    title: str | None = None,
    rows: bool = True,
    cluster_names: Sequence[str] = (),
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
    rows : whether the page contains the rows. Without them it shows groups of at least five rows only: no names, no
        values of a single row, no map of rows.
    cluster_names : a name for each cluster; by default made of what sets it apart.
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
    found = read_findings(model, names=names, feature_names=feature_names)
    if len(cluster_names) not in (0, found.n_clusters):
        raise InputError(f"cluster_names has {len(cluster_names)} entries, but there are {found.n_clusters} clusters")
    found = replace(found, given_names=tuple(map(str, cluster_names)) or found.given_names)
    write_page(found if rows else found.without_rows(), target, title=title, command=command)
    return target


def write_page(
    found: Findings, path: Path, *, title: str | None = None, command: str | None = None, table: str | None = None
) -> None:
    """Write findings to a page; see ``write_report``. Files saved from it are named after `table`, or the page."""
    try:
        import jinja2
        from markupsafe import Markup as markup
    except ImportError as error:
        raise ImportError('the report needs Jinja2: pip install "fusewise[report]"') from error
    option = "--n-clusters " if command else "n_clusters="
    partitions, (guarantee, curve) = partitions_of(found), guarantee_of(found)
    data = payload(partitions, curve, table or path.stem)
    # The template escapes everything from the user's table; only package files and JSON without "<" are marked safe.
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_ours),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["readable"] = readable
    environment.globals |= {"colour": colour, "symbol": lambda k: SYMBOLS[shape(k)], "words": words}
    environment.globals |= {"confidence": cluster_confidence, "observed": _observed, "lines_of": _lines}
    page = environment.get_template("page.html").render(
        title=title or "Clustering report",
        found=found,
        partitions=partitions,
        option=option,
        least_rows=LEAST_VALUES,
        most_clusters=MOST_CLUSTERS,
        most_columns=MOST_COLUMNS,
        most_important=MOST_IMPORTANT,
        has_second_map=len(data["maps"]) > 1,
        tree=data["table"],
        sure=how_sure(found, option),
        uncertain=UNCERTAIN,
        guarantee=guarantee,
        curve=curve,
        has_missing=not found.seen.all(),
        has_numbers=any(column.kind == "number" for column in found.columns),
        convergence=convergence(found),
        settings=settings(found),
        versions=versions(),
        rerun=command or rerun(found, path.name),
        data=markup(to_json(data)),
        style=markup("\n".join(map(_ours, STYLES))),
        script=markup("\n".join(map(_ours, SCRIPTS))),
    )
    write_whole(path, page.encode(errors="replace"))  # file names need not be valid Unicode


LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def convergence(found: Findings) -> list[str]:
    """Sentences on whether the computation converged, and on which rows it was made."""
    model, path = found.model, found.path
    if not isinstance(path, Choice):
        state = "Converged" if model.converged_ else "Not converged"
        said = [f"{state} after {counted(model.n_iter_, 'iteration')} at lam = {readable(model.lam_)}."]
        if isinstance(path, FusionPath):
            said.append(f"{int(path.converged.sum())} of the {len(path)} points of the path converged.")
        return said
    tree = "of the merge tree"
    compared = counted(len(path.criteria), f"partition {tree} was", f"partitions {tree} were") + " compared"
    how = "" if model.converged_ else " before an interruption, and the best of them was chosen"
    symmetric = "" if path.units.powers is None else " of the columns, made symmetric"
    placed = f"Rows were placed in a subspace of {counted(int(model.rank_), 'dimension')}{symmetric}."
    said, n_seen = [f"{compared}{how}. {placed}"], len(found.labels) - len(found.blank)
    if len(path.rows) < n_seen:
        some = f"a random sample of {len(path.rows):,} rows out of {n_seen:,}"
        said.append(f"The clusters were found in {some}; the other rows were then assigned to them.")
    return said


def settings(found: Findings) -> list[tuple[str, str]]:
    """The parameters of the model, and the values used for those left to the library."""
    model = found.model
    asked = [
        (name, f"<array of shape {value.shape}>" if isinstance(value, np.ndarray) else repr(value))
        for name, value in model.get_params(deep=False).items()
    ]
    if isinstance(found.path, Choice):
        return [*asked, ("rank used", str(model.rank_)), ("noise level", readable(model.noise_))]
    used = [
        ("lam used", readable(model.lam_)),
        ("penalty used", repr(model.penalty_)),
        ("fidelity used", repr(model.fidelity_)),
        ("rank used", str(model.rank_)),
        ("objective", readable(model.objective_)),
    ]
    return asked + used


def versions() -> list[tuple[str, str]]:
    """Versions of the software the numbers depend on."""
    ours = [("fusewise", fusewise.__version__), ("python", platform.python_version())]
    return ours + [(name, version(name)) for name in LIBRARIES] + [("machine", platform.platform(terse=True))]


def rerun(found: Findings, file: str) -> str:
    """Python code that reproduces the report from the same table X."""
    model = found.model
    imports = [f"from fusewise import {type(model).__name__}"]
    for room, of in (("fidelity", Fidelity), ("penalties", Penalty)):
        used = [value for value in model.get_params(deep=False).values() if isinstance(value, of)]
        imports += [f"from fusewise.{room} import {type(value).__name__}" for value in used]
    lines = "\n".join(imports)
    return f"{lines}\n\nmodel = {model!r}.fit(X)\nmodel.report({file!r})"


#: Maximum number of rows whose pairs are measured: more would take longer than the fit.
MOST_MEASURED = 1_500
#: Maximum number of entries compared over all pairs; wide tables are measured on fewer rows.
MOST_WORK = 1e8
#: Observed fractions for which the guarantee is tabulated.
FRACTIONS = np.linspace(0.05, 1, 20).round(2)


def guarantee_of(found: Findings) -> tuple[list[str], list[tuple[float, float]]]:
    """The guarantee in words, and pairs (observed fraction, guaranteed probability) if any is above 0.

    The clusters are measured in the model's units, on a sample of the rows if there are many.
    """
    inside = np.flatnonzero(found.labels >= 0)
    if not len(inside):
        return ["No row is in a cluster, so there is no recovery guarantee."], []
    most = min(MOST_MEASURED, int(np.sqrt(MOST_WORK / found.values.shape[1])))
    rows = inside if len(inside) <= most else np.sort(np.random.default_rng(0).choice(inside, most, replace=False))
    try:
        geometry = ClusterGeometry.from_data(found.values[rows] / found.unit, found.labels[rows])
    except ValueError as error:
        return [f"No recovery guarantee can be computed: {error}."], []
    sizes = tuple(int(n) for n in found.sizes[np.unique(found.labels[rows])])
    geometry = replace(geometry, sizes=sizes, observed=float(found.seen[inside].mean()))
    result, sentences = promise(geometry), []
    if geometry.n_clusters > 1:
        n, p = len(found.features), len(found.columns)
        of = "" if n == p else f" of the model (of {counted(p, 'column')}: a category has a feature for each level)"
        share = f"{geometry.observed:.1%} of the values of the clustered rows observed"
        sentences = [f"Measured in {counted(n, 'feature')}{of}, with {share}."]
    sentences += [said.replace(" (uniform=True)", "") for said in result.sentences[1:]]
    if len(rows) < len(inside):
        sentences.append(
            f"Distances were measured on a random sample of {len(rows):,} of the {len(inside):,} clustered rows. Other "
            "pairs of rows may be closer; the true guarantee is then weaker."
        )
    chances = np.atleast_1d(success_probability(geometry, FRACTIONS))
    drawn = geometry.n_clusters > 1 and chances.any()
    return sentences, list(zip(FRACTIONS.tolist(), chances.tolist(), strict=True)) if drawn else []
