"""From findings to the HTML of the page: data -> JSON -> template."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from fusewise.kernels.words import readable
from fusewise.views import sureness
from fusewise.views import wording as words
from fusewise.views.findings import Findings, branches_of, compare_missingness, profile_of
from fusewise.views.report import provenance
from fusewise.views.report.payload import payload, to_json
from fusewise.views.report.recovery import promise_for

#: The scripts of the page, in order of their dependencies.
SCRIPTS = ("data.js", "theme.js", "rows.js", "map.js", "explorer.js", "charts.js", "main.js")
WEB = files("fusewise.views.report") / "web"


def _load() -> tuple[Any, Any]:
    """Import Jinja2 and Plotly, or raise an ImportError that says how to install them."""
    try:
        import jinja2
        import plotly.offline
    except ImportError as error:
        raise ImportError('the report needs Plotly and Jinja2: pip install "fusewise[report]"') from error
    return jinja2, plotly.offline


def render(found: Findings, *, title: str, file: str, command: str | None = None) -> str:
    """Render the whole page.

    Parameters
    ----------
    title : heading of the page.
    file : name of the file, for the code that reproduces the report.
    command : command that reproduces the report, instead of Python code.
    """
    jinja2, offline = _load()
    profile, missing, branches, promised = (
        profile_of(found), compare_missingness(found), branches_of(found), promise_for(found),
    )  # fmt: skip
    judged = sureness.stability(found)
    data = payload(found, profile, missing, branches, promised.curve)
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
            clusters=words.clusters(found),
            has_confidence=found.confidence is not None,
            uncertain=sureness.UNCERTAIN,
            outliers=int((found.labels < 0).sum()) - len(found.blank),
            number_sentence=sureness.number_sentence(found),
            rivals=sureness.rivals(found),
            stability_sentence=None if judged is None else sureness.stability_sentence(judged),
            stable_clusters=sureness.stable_clusters(found),
            path_sentence=words.path_sentence(found),
            criterion_name=found.trail.criterion_name,
            steps=words.steps(found),
            has_tree=branches is not None,
            profile_sentences=words.profile_sentences(found, profile),
            telling=words.telling(found, profile),
            has_missing=not found.seen.all(),
            missing_sentences=words.missing_sentences(found, missing),
            map_size=words.map_size(found, missing),
            missing_columns=words.missing_columns(found, missing),
            n_features=len(found.columns),
            promised=promised,
            convergence=provenance.convergence(found),
            settings=provenance.settings(found),
            versions=provenance.versions(),
            rerun=command or provenance.rerun(found, file),
            fingerprint=provenance.fingerprint(found),
            data=jinja2.utils.markupsafe.Markup(to_json(data)),
            style=_ours(jinja2, "style.css"),
            script=_ours(jinja2, *SCRIPTS),
            plotly=jinja2.utils.markupsafe.Markup(offline.get_plotlyjs()),
        )
    )


def _ours(jinja2: Any, *names: str) -> Any:
    """Files of this package, marked as safe."""
    return jinja2.utils.markupsafe.Markup("\n".join((WEB / name).read_text("utf-8") for name in names))
