"""From figures asked for to files: trials, pictures, numbers and the page."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from fusewise.kernels.input_errors import InputError
from fusewise.kernels.output import finite_json, write_whole
from fusewise.progress import Progress, silent
from fusewise.reproduce import (
    fig1_assumptions,
    fig2_penalties,
    fig3_comparison,
    fig4_guarantees,
    fig5_success,
    fig6_simulated,
    fig7_wine,
    fig8_mri,
)
from fusewise.reproduce.drawing import encode
from fusewise.reproduce.index_page import render
from fusewise.reproduce.study import Section, Study, StudyResult
from fusewise.reproduce.trials import Outcomes, load_result, run_trials

STUDIES: dict[str, Study] = {
    module.STUDY.name: module.STUDY
    for module in (
        fig1_assumptions,
        fig2_penalties,
        fig3_comparison,
        fig4_guarantees,
        fig5_success,
        fig6_simulated,
        fig7_wine,
        fig8_mri,
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
    progress : told of each trial.

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
