"""Trials computed, figures drawn, and one HTML page written that sets the paper's claims beside the results."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

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
from fusewise.reproduce._study import Claim, Outcomes, Picture, Study, StudyResult, load_result, run_trials
from fusewise.support import InputError, finite_json, write_whole

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

PAGE, NUMBERS, TRIALS = "index.html", "numbers.json", "trials"

#: The mark of each verdict, and its class in the style sheet.
_MARKS = {"agrees": ("✓", "yes"), "agrees in part": ("◐", "part"), "differs": ("✗", "no")}


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
    out : folder for ``index.html``, the pictures, ``numbers.json`` and the results of trials, which a later run uses.
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
    _write(out, sections)
    return {name: section.found for name, section in sections.items() if name in figures}


def _write(out: Path, sections: Mapping[str, Section]) -> None:
    """Write pictures, numbers, and last of all the page."""
    images = {}
    for section in sections.values():
        for picture in section.found.pictures:
            images[picture.file] = encode(picture.figure, Path(picture.file).suffix[1:])
            write_whole(out / picture.file, images[picture.file])
    numbers = {
        name: {
            "claims": [asdict(claim) for claim in section.found.claims],
            "tables": [asdict(table) for table in section.found.tables],
            "quick": section.quick,
            "version": fusewise.__version__,
        }
        for name, section in sections.items()
    }
    write_whole(out / NUMBERS, finite_json(numbers, indent=1).encode())
    write_whole(out / PAGE, render(list(sections.values()), images).encode())


def render(sections: Sequence[Section], images: Mapping[str, bytes]) -> str:
    """The page as HTML; `images` are the contents of the picture files."""
    claims = [claim for section in sections for claim in section.found.claims]
    style = files("fusewise.reproduce").joinpath("page.css").read_text("utf-8")
    counts = ", ".join(f"{v} {sum(c.verdict == v for c in claims)}" for v in _MARKS)
    contents = "".join(
        f'<li><a href="#{section.study.name}">{_title(section.study)}</a> <span aria-hidden="true">'
        + " ".join('<span class="{1}">{0}</span>'.format(*_MARKS[c.verdict]) for c in section.found.claims)
        + "</span></li>"
        for section in sections
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The paper, rerun</title><style>{style}</style></head>\n<body><main>"
        "<h1>The paper, rerun</h1>"
        "<p>Poddar and Jacob, <cite>Clustering of Data with Missing Entries using Non-convex Fusion Penalties</cite>: "
        "figures made again with Fusewise, each claim beside what was measured. "
        f"Of {len(claims)} claims: {counts}. Verdicts are computed from the numbers.</p>"
        f"<nav aria-label='Figures'><ul>{contents}</ul></nav>\n"
        + "".join(_section(section.study, section.found, section.quick, images) for section in sections)
        + "</main></body></html>\n"
    )


def _title(study: Study) -> str:
    return f"Figure {study.name.removeprefix('fig')}: {escape(study.title)}"


def _section(study: Study, found: StudyResult, quick: bool, images: Mapping[str, bytes]) -> str:
    size = (
        "the quick run, with fewer and smaller trials than in the paper"
        if quick
        else "the full run, with as many trials as in the paper or more"
    )
    command = f"fusewise reproduce {study.name}" + (" --quick" if quick else "")
    return (
        f'<section aria-labelledby="{study.name}"><h2 id="{study.name}">{_title(study)}</h2>'
        f'<p class="soft">{escape(study.settings)} This is {size}: <code>{command}</code>, '
        f"Fusewise {fusewise.__version__}.</p>"
        + _table("claims", ("The paper", "Measured", "Verdict"), map(_claim, found.claims))
        + "".join(_figure(picture, images[picture.file]) for picture in found.pictures)
        + "".join(
            f"<details><summary>{escape(table.title)}</summary>"
            + _table("numbers", table.headings, ("".join(f"<td>{escape(c)}</td>" for c in row) for row in table.rows))
            + "</details>"
            for table in found.tables
        )
        + "</section>\n"
    )


def _table(kind: str, headings: Sequence[str], rows: Iterable[str]) -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in headings)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _claim(claim: Claim) -> str:
    mark, kind = _MARKS[claim.verdict]
    why = f'<span class="why">{escape(claim.why)}</span>' if claim.why else ""
    return (
        f"<td>{escape(claim.paper)}</td><td>{escape(claim.measured)}{why}</td>"
        f'<td class="verdict {kind}">{mark} {claim.verdict}</td>'
    )


def _figure(picture: Picture, content: bytes) -> str:
    kind, text = "svg+xml" if picture.file.endswith(".svg") else "png", escape(picture.caption)
    source = f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
    return f'<figure><div><img src="{source}" alt="{text}"></div><figcaption>{text}</figcaption></figure>'
