"""Trials computed, figures drawn, and one HTML page written that sets the paper's claims beside the results."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import jinja2
from markupsafe import Markup

import fusewise
from fusewise.progress import Progress, silent
from fusewise.reproduce import (
    _fig2_fig3_penalties,
    _fig4_guarantees,
    _fig5_success,
    _fig6_simulated,
    _fig7_wine,
    _fig8_mri,
)
from fusewise.reproduce._drawing import encode
from fusewise.reproduce._study import Outcomes, Study, StudyResult, load_result, run_trials
from fusewise.support import InputError, write_whole

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        _fig2_fig3_penalties.SHAPES,
        _fig2_fig3_penalties.COMPARISON,
        _fig4_guarantees.STUDY,
        _fig5_success.STUDY,
        _fig6_simulated.STUDY,
        _fig7_wine.STUDY,
        _fig8_mri.STUDY,
    )
}

PAGE, TRIALS = "index.html", "trials"

#: The mark of each verdict, and its class in the style sheet.
MARKS = {"agrees": ("✓", "yes"), "agrees in part": ("◐", "part"), "differs": ("✗", "no")}


@dataclass(frozen=True)
class Section:
    """What the page shows of a study, made by the quick or the full run."""

    study: Study
    found: StudyResult
    quick: bool


def reproduce(
    figures: Sequence[str],
    out: Path,
    *,
    quick: bool = False,
    jobs: int | None = None,
    fresh: bool = False,
    progress: Progress = silent,
) -> dict[str, StudyResult]:
    """Regenerate figures of the paper, and a page that sets its claims beside what was measured.

    Parameters
    ----------
    figures : names, of ``STUDIES``.
    out : folder for ``index.html``, the pictures and the results of trials, which a later run uses.
        The page also shows the other figures whose trials are all there.
    quick : fewer and smaller trials.
    jobs : processes; None: one for each processor.
    fresh : forget the trials that are there.
    progress : called after each trial.

    Returns
    -------
    dict
        What each figure shows, by name.
    """
    unknown = [name for name in figures if name not in STUDIES]
    if unknown:
        raise InputError(f"unknown figure {unknown[0]!r}: use one of {', '.join(STUDIES)}")
    folder = out / TRIALS
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    # The longest trials are those of the last figures: started first, they do not delay the end.
    plans = [STUDIES[name].plan(quick) for name in reversed(STUDIES) if name in figures]
    run_trials([trial for plan in plans for trial in plan], folder, jobs=jobs, progress=progress)
    sections = {}
    for name, study in STUDIES.items():
        for size in (quick,) if name in figures else (False, True):
            trials = study.plan(size)
            results = [result for trial in trials if (result := load_result(trial, folder)) is not None]
            if len(results) == len(trials):
                sections[name] = Section(study, study.report(Outcomes(trials, results)), size)
                break
    images = {}
    for picture in (picture for section in sections.values() for picture in section.found.pictures):
        images[picture.file] = encode(picture.figure, Path(picture.file).suffix[1:])
        write_whole(out / picture.file, images[picture.file])
    write_whole(out / PAGE, render(list(sections.values()), images).encode())
    return {name: section.found for name, section in sections.items() if name in figures}


def render(sections: Sequence[Section], images: Mapping[str, bytes]) -> str:
    """The page as HTML; `images` are the contents of the picture files."""
    folder, kinds = files("fusewise.reproduce"), {".svg": "svg+xml", ".png": "png"}
    template = jinja2.Template(
        folder.joinpath("page.html").read_text("utf-8"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    claims = [claim.verdict for section in sections for claim in section.found.claims]
    page: str = template.render(
        sections=sections,
        counts={verdict: claims.count(verdict) for verdict in MARKS},
        marks=MARKS,
        sources={
            name: f"data:image/{kinds[Path(name).suffix]};base64,{base64.b64encode(content).decode()}"
            for name, content in images.items()
        },
        version=fusewise.__version__,
        style=Markup(folder.joinpath("page.css").read_text("utf-8")),
    )
    return page
