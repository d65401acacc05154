"""Trials: pure, seeded functions of a few settings, computed once, side by side, and kept in files.

A trial is known by its function, its settings, its source and the version of the library. Its result, arrays by name,
goes into one ``.npz`` file of a folder, written whole or not at all. So a run that was stopped goes on where it was,
and a second run computes only what is missing.
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
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import fusewise
from fusewise.kernels.output import written_whole
from fusewise.progress import Progress, silent

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
    progress : told when it begins, and after each trial.
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
