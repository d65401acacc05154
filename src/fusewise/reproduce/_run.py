"""From figures asked for to files: trials, pictures, numbers, and the page, one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path

from fusewise.progress import Progress, silent
from fusewise.reproduce import (
    _fig1_assumptions,
    _fig2_penalties,
    _fig3_comparison,
    _fig4_guarantees,
    _fig5_success,
    _fig6_simulated,
    _fig7_wine,
    _fig8_mri,
)
from fusewise.reproduce._drawing import encode
from fusewise.reproduce._study import (
    Claim,
    Outcomes,
    PictureFile,
    Section,
    Study,
    StudyResult,
    StudyTable,
    load_result,
    run_trials,
)
from fusewise.support import InputError, finite_json, write_whole

_MARKS = {"agrees": "✓", "agrees in part": "◐", "differs": "✗"}
_CLASSES = {"agrees": "yes", "agrees in part": "part", "differs": "no"}

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #5b6067; --line: #d9dce0; --paper: #fff; --wash: #f6f7f9;
  --yes: #00664b; --part: #8a5a00; --no: #a33b00; --link: #005a9c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e9eb; --soft: #a3a9b1; --line: #3a3f46; --paper: #16181b;
  --wash: #1f2226; --yes: #4fd0a5; --part: #f0b95a; --no: #ff9166; --link: #7cc0ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 66rem; margin: 0 auto; padding: 2rem 1.25rem 5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.4rem; margin: 3.2rem 0 .4rem; padding-top: 1rem; border-top: 1px solid var(--line); }
p { max-width: 48rem; } a { color: var(--link); } .soft { color: var(--soft); }
figure { margin: 1.4rem 0; }
figure > div { background: #fff; padding: .75rem; border: 1px solid var(--line); border-radius: 6px; overflow-x: auto; }
figure img { display: block; max-width: 100%; height: auto; margin: 0 auto; }
figcaption { color: var(--soft); font-size: .9rem; max-width: 52rem; margin-top: .5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; margin: .6rem 0 1rem; }
th, td { text-align: left; vertical-align: top; padding: .45rem .7rem .45rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); }
.claims td:nth-child(1) { width: 33%; } .claims td:nth-child(2) { width: 52%; }
.claims td.verdict { white-space: nowrap; }
.numbers td, .numbers th { font-variant-numeric: tabular-nums; white-space: nowrap; padding-right: 1.2rem; }
.verdict { font-weight: 600; } .yes { color: var(--yes); } .part { color: var(--part); } .no { color: var(--no); }
.why { color: var(--soft); display: block; margin-top: .35rem; }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--link); }
summary:focus-visible, a:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
@media print { h2 { break-after: avoid; } figure { break-inside: avoid; } main { max-width: none; } }
"""


def render(studies: Sequence[tuple[Study, Section]], images: Mapping[str, bytes]) -> str:
    """The page as HTML.

    Parameters
    ----------
    studies : figures, with what was found.
    images : the encoded pictures, by file name.
    """
    claims = [claim for _, found in studies for claim in found.claims]
    counts = ", ".join(f"{v} {sum(c.verdict == v for c in claims)}" for v in _MARKS)
    contents = "".join(
        f'<li><a href="#{study.name}">Figure {study.name.removeprefix("fig")}: {escape(study.title)}</a> '
        f'<span aria-hidden="true">{_marks(found.claims)}</span></li>'
        for study, found in studies
    )
    sections = "".join(_section(study, found, images) for study, found in studies)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The paper, rerun</title><style>{_STYLE}</style></head>\n<body><main>"
        "<h1>The paper, rerun</h1>"
        "<p>Poddar and Jacob, <cite>Clustering of Data with Missing Entries using Non-convex Fusion Penalties</cite>: "
        "figures made again with Fusewise, each claim beside what was measured. "
        f"Of {len(claims)} claims: {counts}. Verdicts are computed from the numbers.</p>"
        f"<nav aria-label='Figures'><ul>{contents}</ul></nav>\n{sections}</main></body></html>\n"
    )


def _marks(claims: Sequence[Claim]) -> str:
    return " ".join(f'<span class="{_CLASSES[c.verdict]}">{_MARKS[c.verdict]}</span>' for c in claims)


def _section(study: Study, found: Section, images: Mapping[str, bytes]) -> str:
    size = (
        "the quick run, with fewer and smaller trials than in the paper"
        if found.quick
        else "the full run, with as many trials as in the paper or more"
    )
    command = f"fusewise reproduce {study.name}" + (" --quick" if found.quick else "")
    made = f"This is {size}: <code>{command}</code>, Fusewise {escape(found.version)}."
    return (
        f'<section aria-labelledby="{study.name}"><h2 id="{study.name}">Figure {study.name.removeprefix("fig")}: '
        f'{escape(study.title)}</h2><p class="soft">{escape(study.settings)} {made}</p>'
        + _claims(found.claims)
        + "".join(_figure(picture, images) for picture in found.pictures)
        + "".join(_table(table) for table in found.tables)
        + "</section>\n"
    )


def _claims(claims: Sequence[Claim]) -> str:
    rows = "".join(
        f"<tr><td>{escape(c.paper)}</td><td>{escape(c.measured)}"
        + (f'<span class="why">{escape(c.why)}</span>' if c.why else "")
        + f'</td><td class="verdict {_CLASSES[c.verdict]}">{_MARKS[c.verdict]} {c.verdict}</td></tr>'
        for c in claims
    )
    return (
        '<div class="scroll"><table class="claims"><thead><tr>'
        '<th scope="col">The paper</th><th scope="col">Measured</th>'
        f'<th scope="col">Verdict</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _figure(picture: PictureFile, images: Mapping[str, bytes]) -> str:
    kind = "svg+xml" if picture.name.endswith(".svg") else "png"
    data = base64.b64encode(images[picture.name]).decode()
    return (
        f'<figure><div><img src="data:image/{kind};base64,{data}" alt="{escape(picture.caption)}"></div>'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
    )


def _table(table: StudyTable) -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in table.headings)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    return (
        f"<details><summary>{escape(table.title)}</summary>"
        f'<div class="scroll"><table class="numbers"><thead><tr>{head}</tr>'
        f"</thead><tbody>{rows}</tbody></table></div></details>"
    )


STUDIES: dict[str, Study] = {
    module.STUDY.name: module.STUDY
    for module in (
        _fig1_assumptions,
        _fig2_penalties,
        _fig3_comparison,
        _fig4_guarantees,
        _fig5_success,
        _fig6_simulated,
        _fig7_wine,
        _fig8_mri,
    )
}

PAGE, NUMBERS, TRIALS = "index.html", "numbers.json", "trials"


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
        The page also shows the figures that earlier runs have left there.
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
    studies = [STUDIES[name] for name in STUDIES if name in figures]
    folder = out / TRIALS
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    # The longest trials are those of the last figures: begun first, they do not keep everybody waiting at the end.
    run_trials(
        [trial for study in reversed(studies) for trial in study.plan(quick)], folder, jobs=jobs, progress=progress
    )
    findings = {study.name: study.report(_outcomes(study, folder, quick)) for study in studies}
    _write(out, findings, quick)
    return findings


def _outcomes(study: Study, folder: Path, quick: bool) -> Outcomes:
    trials = study.plan(quick)
    results = [load_result(trial, folder) for trial in trials]
    return Outcomes(trials, [result for result in results if result is not None])


def _write(out: Path, findings: dict[str, StudyResult], quick: bool) -> None:
    """Pictures, numbers, and the page last of all; figures of earlier runs stay on it."""
    for found in findings.values():
        for picture in found.pictures:
            write_whole(out / picture.file.name, encode(picture.figure, picture.vector))
    sections = _kept(out) | {name: Section.of(found, quick) for name, found in findings.items()}
    ordered = {name: sections[name] for name in STUDIES if name in sections}
    numbers = {name: asdict(section) for name, section in ordered.items()}
    write_whole(out / NUMBERS, finite_json(numbers, indent=1).encode())
    images = {file.name: (out / file.name).read_bytes() for section in ordered.values() for file in section.pictures}
    page = render([(STUDIES[name], section) for name, section in ordered.items()], images)
    write_whole(out / PAGE, page.encode())


def _kept(out: Path) -> dict[str, Section]:
    """The figures of earlier runs into this folder whose numbers can be read and whose pictures are there."""
    try:
        numbers = json.loads((out / NUMBERS).read_text(encoding="utf-8"))
        sections = {name: Section.read(numbers[name]) for name in STUDIES if name in numbers}
    except (OSError, ValueError, KeyError, TypeError):  # none, or of somebody else, or of an older version
        return {}
    return {
        name: section
        for name, section in sections.items()
        if all(Path(file.name).name == file.name and (out / file.name).is_file() for file in section.pictures)
    }
