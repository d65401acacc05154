"""What a figure of the paper is here: trials to compute, then pictures, tables and claims made of their results.

Trials are pure, seeded functions of a few settings, computed in parallel. A trial is identified by its function, its
settings and the version of the library. Its result, arrays by name, is kept in a ``.npz`` file, so that an
interrupted run resumes where it stopped, and a second run computes only what is missing.
"""

from __future__ import annotations

import hashlib
import json
import signal
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import numpy.typing as npt

import fusewise
from fusewise.progress import Progress, silent
from fusewise.support import written_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Trial:
    """``function(**settings)``: a function of a module, and settings that JSON can hold."""

    function: Callable[..., Mapping[str, npt.ArrayLike]]
    settings: Mapping[str, Any]

    @property
    def file_name(self) -> str:
        """Name of the file that keeps the result: a digest of function, settings and version."""
        name = f"{self.function.__module__}.{self.function.__qualname__}"
        identity = [name, dict(self.settings), fusewise.__version__]
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:24] + ".npz"


class Outcomes:
    """Trials with their results, found by settings."""

    def __init__(self, trials: Sequence[Trial], results: Sequence[Result]) -> None:
        self.pairs = list(zip(trials, results, strict=True))

    def where(self, **settings: Any) -> list[Result]:
        """Results of the trials that have these settings, in the order of the trials."""
        return [result for trial, result in self.pairs if settings.items() <= trial.settings.items()]

    def mean(self, name: str, **settings: Any) -> float:
        """Mean of a number over the trials that have these settings."""
        return float(np.mean([result[name] for result in self.where(**settings)]))

    def values(self, setting: str) -> list[Any]:
        """The values of a setting, in the order of the trials."""
        return list(dict.fromkeys(trial.settings[setting] for trial, _ in self.pairs))


def load_result(trial: Trial, folder: Path) -> Result | None:
    """The result kept in the folder; None if there is none, or none that can be read."""
    try:
        with np.load(folder / trial.file_name, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None


def run_trials(trials: Sequence[Trial], folder: Path, *, jobs: int | None = None, progress: Progress = silent) -> None:
    """Compute the trials whose results the folder lacks.

    Parameters
    ----------
    trials : what to compute.
    folder : where results are kept; it is created if necessary.
    jobs : number of processes; None: one for each processor.
    progress : called at the start and after each trial.
    """
    folder.mkdir(parents=True, exist_ok=True)
    missing = {trial.file_name: trial for trial in trials if load_result(trial, folder) is None}
    done, total = len(trials) - len(missing), len(trials)
    progress("trials", done, total)
    if not missing:
        return
    workers = min(jobs or joblib.cpu_count(), len(missing))
    # Other processes even for one worker: on Ctrl-C the library returns its best result so far, which must not be kept.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_prepare_worker) as pool:
        futures = [pool.submit(_compute, trial, folder) for trial in missing.values()]
        try:
            for number, future in enumerate(as_completed(futures), done + 1):
                future.result()
                progress("trials", number, total)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _compute(trial: Trial, folder: Path) -> None:
    """Keep the result of a trial, whole or not at all."""
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in trial.function(**trial.settings).items()}
    with written_whole(folder / trial.file_name) as file:
        np.savez_compressed(file, **arrays)


def _prepare_worker() -> None:
    """One thread per process; Ctrl-C ends the process at once; warnings would be seen by nobody."""
    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threadpool_limits(1)
    warnings.simplefilter("ignore")


def verdict(holds: bool, in_part: bool = False) -> str:
    """The verdict on a claim that `holds`, or holds `in_part`."""
    return "agrees" if holds else "agrees in part" if in_part else "differs"


@dataclass(frozen=True)
class Claim:
    """What the paper says, what was measured, how the two compare and, where they differ, why (if that is known)."""

    paper: str
    measured: str
    verdict: str
    why: str = ""


@dataclass(frozen=True)
class StudyTable:
    """Numbers behind a figure."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class Picture:
    """A drawing; its file is an .svg, or a .png if it shows thousands of points. Screen readers read the caption."""

    file: str
    figure: Figure
    caption: str


@dataclass(frozen=True, eq=False)
class StudyResult:
    """What a study shows."""

    pictures: Sequence[Picture]
    claims: Sequence[Claim]
    tables: Sequence[StudyTable] = ()


@dataclass(frozen=True, eq=False)
class Study:
    """A figure of the paper.

    Attributes
    ----------
    name, title : "fig5", and what it is about.
    settings : how it was done, in a few sentences, for the page.
    report : from the outcomes of the trials to pictures, claims and tables.
    plan : trials of the quick (True) or the full (False) run.
    """

    name: str
    title: str
    settings: str
    report: Callable[[Outcomes], StudyResult]
    plan: Callable[[bool], list[Trial]] = lambda quick: []
