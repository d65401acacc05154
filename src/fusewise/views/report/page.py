"""From findings to the HTML of the page: data -> JSON -> template."""

from __future__ import annotations

from importlib.resources import files
from pathlib import PurePath
from typing import Any

from fusewise.support.words import readable
from fusewise.views import sureness
from fusewise.views import wording as words
from fusewise.views.findings import Findings, branches_of
from fusewise.views.report import provenance
from fusewise.views.report.cluster_sheets import columns_read, important_columns, sheets
from fusewise.views.report.packing import to_json
from fusewise.views.report.partitions import Partition, partitions_of
from fusewise.views.report.payload import payload
from fusewise.views.report.recovery import promise_for

#: The scripts of the page, in order of their dependencies.
SCRIPTS = (
    "data.js", "theme.js", "scales.js", "surface.js", "state.js", "export.js", "picture.js", "rows.js", "map.js",
    "map_controls.js", "tree_keys.js", "cluster_map.js", "contrasts.js", "charts.js", "path_charts.js",
    "explorer.js", "main.js",
)  # fmt: skip
STYLES = ("style.css", "paper.css")
WEB = files("fusewise.views.report") / "web"


def _load() -> Any:
    """Import Jinja2, or raise an ImportError that says how to install it."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError('the report needs Jinja2: pip install "fusewise[report]"') from error
    return jinja2


def render(found: Findings, *, title: str, file: str, command: str | None = None, table: str | None = None) -> str:
    """Render the whole page.

    Parameters
    ----------
    title : heading of the page.
    file : name of the file, for the code that reproduces the report.
    command : command that reproduces the report, instead of Python code.
    table : name of the table, in the rules as SQL and in the names of the files that the page offers; by default that
        of the file.
    """
    jinja2 = _load()
    markup = jinja2.utils.markupsafe.Markup
    partitions, branches, promised = partitions_of(found), branches_of(found), promise_for(found)
    data = payload(partitions, branches, promised.curve, table or PurePath(file).stem)
    # The template escapes everything from the user's table; only package files and JSON without "<" are marked safe.
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (WEB / name).read_text("utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["readable"] = readable
    return str(
        environment.get_template("page.html").render(
            title=title,
            headline=words.headline(found),
            notes=words.notes(found),
            partitions=[_words(partition) for partition in partitions],
            has_second_map=len(data["maps"]) > 1,
            is_sampled=len(found.drawn) < len(found.labels) - len(found.blank),
            n_drawn=len(found.drawn),
            table_named=data["table"]["named"],
            has_joins=bool(data["table"]["joins"]["shape"][0]),
            sure=sureness.how_sure(found, "--n-clusters " if command else "n_clusters="),
            uncertain=sureness.UNCERTAIN,
            rivals=sureness.rivals(found),
            stable_clusters=sureness.stable_clusters(found),
            known=found.known,
            path_sentence=words.path_sentence(found),
            criterion_name=found.trail.criterion_name,
            steps=words.steps(found),
            has_tree=branches is not None,
            has_missing=not found.seen.all(),
            n_columns=len(found.columns),
            columns_read=columns_read(found),
            promised=promised,
            convergence=provenance.convergence(found),
            settings=provenance.settings(found),
            versions=provenance.versions(),
            rerun=command or provenance.rerun(found, file),
            fingerprint=provenance.fingerprint(found),
            data=markup(to_json(data)),
            style=markup(_ours(*STYLES)),
            script=markup(_ours(*SCRIPTS)),
        )
    )


def _words(partition: Partition) -> dict[str, Any]:
    """What the template says about a partition."""
    found = partition.found
    return {
        "n_clusters": found.n_clusters,
        "clusters": words.clusters(found),
        "sheets": sheets(found),
        "has_confidence": found.confidence is not None,
        "outliers": int((found.labels < 0).sum()) - len(found.blank),
        "profile_sentences": words.profile_sentences(found, partition.profile),
        "telling": words.telling(found, partition.profile, partition.observed if partition.is_result else None),
        "important": important_columns(found),
        "n_compared": found.contrasts.n_rows,
        "missing_sentences": words.missing_sentences(found, partition.missing),
        "missing_columns": words.missing_columns(found, partition.missing),
        "map_size": words.map_size(found, partition.missing),
    }


def _ours(*names: str) -> str:
    """Files of this package."""
    return "\n".join((WEB / name).read_text("utf-8") for name in names)
