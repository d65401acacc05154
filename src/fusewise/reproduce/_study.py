"""What a figure of the paper is here: trials to compute, then pictures, tables and claims made of their results.

Trials are pure, seeded functions of a few settings, computed side by side. A trial is known by its function, its
settings, its source and the version of the library. Its result, arrays by name, goes into one ``.npz`` file, written
whole or not at all. So a run that was stopped goes on where it was, and a second run computes only what is missing.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import signal
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

import fusewise
from fusewise.progress import Progress, silent
from fusewise.support import written_whole

Result = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Trial:
    """``function(**settings)``: a function of a module, and settings that JSON can hold."""

    function: Callable[..., Mapping[str, npt.ArrayLike]]
    settings: Mapping[str, Any]

    @property
    def identity(self) -> str:
        """All that the result depends on, as text: settings, the source of the function, the version of the library."""
        name = f"{self.function.__module__}.{self.function.__qualname__}"
        return json.dumps([name, dict(self.settings), _source(self.function), fusewise.__version__], sort_keys=True)

    @property
    def file_name(self) -> str:
        """Name of the file that keeps the result."""
        return hashlib.sha256(self.identity.encode()).hexdigest()[:24] + ".npz"


@cache
def _source(function: Callable[..., Any]) -> str:
    """A fingerprint of the function's source."""
    return hashlib.sha256(inspect.getsource(function).encode()).hexdigest()


class Outcomes:
    """Trials with their results, to be asked for by settings."""

    def __init__(self, trials: Sequence[Trial], results: Sequence[Result]) -> None:
        self._pairs = list(zip(trials, results, strict=True))

    def where(self, **settings: Any) -> list[Result]:
        """Results of the trials that have these settings, in the order of the trials."""
        return [
            result
            for trial, result in self._pairs
            if all(trial.settings.get(name) == value for name, value in settings.items())
        ]

    def one(self, **settings: Any) -> Result:
        """The first of them."""
        return self.where(**settings)[0]

    def mean(self, name: str, **settings: Any) -> float:
        """Mean of a number over the trials that have these settings."""
        return float(np.mean([result[name] for result in self.where(**settings)]))

    def values(self, setting: str) -> list[Any]:
        """What a setting takes, in the order of the trials."""
        return list(dict.fromkeys(trial.settings[setting] for trial, _ in self._pairs))

    def __len__(self) -> int:
        return len(self._pairs)

    def __iter__(self) -> Iterator[tuple[Mapping[str, Any], Result]]:
        return ((trial.settings, result) for trial, result in self._pairs)


def load_result(trial: Trial, folder: Path) -> Result | None:
    """The result kept in the folder; None where there is none, or none that can be read."""
    try:
        with np.load(folder / trial.file_name, allow_pickle=False) as file:
            kept = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None
    return kept if str(kept.pop("identity", "")) == trial.identity else None


def save_result(trial: Trial, result: Mapping[str, npt.ArrayLike], folder: Path) -> None:
    """Keep a result, whole or not at all."""
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in result.items()}
    with written_whole(folder / trial.file_name) as file:
        np.savez_compressed(file, identity=trial.identity, **arrays)


def run_trials(trials: Sequence[Trial], folder: Path, *, jobs: int | None = None, progress: Progress = silent) -> None:
    """Compute the trials whose results the folder lacks.

    Parameters
    ----------
    trials : what to compute.
    folder : where results are kept; made if need be.
    jobs : processes; None: as many as there are processors for this process.
    progress : called at the start and after each trial.
    """
    folder.mkdir(parents=True, exist_ok=True)
    missing = {trial.file_name: trial for trial in trials if load_result(trial, folder) is None}
    done, total = len(trials) - len(missing), len(trials)
    progress("trials", done, total)
    if not missing:
        return
    workers = min(jobs or available_processors(), len(missing))
    # Processes of their own even for one worker: the library takes Ctrl-C as "give me what you have so far", and what
    # it gives then must not be kept as a result.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_prepare_worker) as pool:
        futures = [pool.submit(_compute, trial, folder) for trial in missing.values()]
        try:
            for future in as_completed(futures):
                future.result()
                done += 1
                progress("trials", done, total)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def available_processors() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _compute(trial: Trial, folder: Path) -> None:
    save_result(trial, trial.function(**trial.settings), folder)


def _prepare_worker() -> None:
    """One thread per process; Ctrl-C ends the process at once; warnings are for people, of whom there are none here."""
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threadpool_limits(1)
    warnings.simplefilter("ignore")


if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Verdict(StrEnum):
    """How a claim of the paper compares with what was measured."""

    AGREES = "agrees"
    IN_PART = "agrees in part"
    DIFFERS = "differs"


@dataclass(frozen=True)
class Claim:
    """What the paper says, what was measured, and how the two compare.

    Attributes
    ----------
    paper : the paper's claim, in its words or nearly so.
    measured : the numbers.
    verdict : whether they bear it out.
    why : where they do not: why not, as far as is known.
    """

    paper: str
    measured: str
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class StudyTable:
    """Numbers behind a figure."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class PictureFile:
    """A drawing in a file.

    Attributes
    ----------
    name : of the file; it ends in .svg or .png.
    caption : what is to be seen; also read out to those who cannot see it.
    """

    name: str
    caption: str


@dataclass(frozen=True, eq=False)
class Picture:
    """A drawing.

    Attributes
    ----------
    name : of its file, without the extension.
    figure : matplotlib's.
    caption : what is to be seen; also read out to those who cannot see it.
    vector : SVG; otherwise PNG, for pictures of thousands of points.
    """

    name: str
    figure: Figure
    caption: str
    vector: bool = True

    @property
    def file(self) -> PictureFile:
        """The file to which it is written."""
        return PictureFile(f"{self.name}.{'svg' if self.vector else 'png'}", self.caption)


@dataclass(frozen=True, eq=False)
class StudyResult:
    """What a study shows."""

    pictures: Sequence[Picture]
    claims: Sequence[Claim]
    tables: Sequence[StudyTable] = ()


@dataclass(frozen=True)
class Section:
    """What the page shows of a study; ``numbers.json`` keeps it, so that a later run can show it again.

    Attributes
    ----------
    claims, tables : as in ``StudyResult``.
    pictures : the files of its pictures.
    quick : whether the quick run made it.
    version : of the library that made it.
    """

    claims: Sequence[Claim]
    tables: Sequence[StudyTable]
    pictures: Sequence[PictureFile]
    quick: bool
    version: str

    @classmethod
    def of(cls, found: StudyResult, quick: bool) -> Section:
        """What this version of the library has found."""
        files = [picture.file for picture in found.pictures]
        return cls(found.claims, found.tables, files, quick, fusewise.__version__)

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> Section:
        """Read what ``dataclasses.asdict`` made of it; KeyError, TypeError or ValueError if it is something else."""
        claims = [Claim(**{**claim, "verdict": Verdict(claim["verdict"])}) for claim in kept["claims"]]
        tables = [StudyTable(**table) for table in kept["tables"]]
        pictures = [PictureFile(**picture) for picture in kept["pictures"]]
        return cls(claims, tables, pictures, bool(kept["quick"]), str(kept["version"]))


@dataclass(frozen=True, eq=False)
class Study:
    """A figure of the paper.

    Attributes
    ----------
    name, title : "fig5", and what it is about.
    settings : how it was done, in a few sentences, for the page.
    plan : trials of the quick (True) or the full (False) run.
    report : from their outcomes to pictures, claims and tables.
    """

    name: str
    title: str
    settings: str
    report: Callable[[Outcomes], StudyResult]
    plan: Callable[[bool], list[Trial]] = field(default=lambda quick: [])


def verdict(holds: bool, in_part: bool = False) -> Verdict:
    """The verdict on a claim that `holds`, or holds `in_part`."""
    return Verdict.AGREES if holds else Verdict.IN_PART if in_part else Verdict.DIFFERS
