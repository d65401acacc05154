"""Trials are computed once, kept whole, and survive being stopped."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import trial_functions

from fusewise.reproduce._study import Trial, load_result, run_trials


@pytest.fixture
def log(tmp_path):
    """A file to which every computation adds a line."""
    path = tmp_path / "log"
    path.touch()
    return path


def squares(log, numbers):
    return [Trial(trial_functions.square, {"number": number, "log": str(log)}) for number in numbers]


def computed(log):
    return sorted(map(int, log.read_text().split()))


def test_a_second_run_computes_only_what_is_missing(tmp_path, log):
    told = []
    run_trials(squares(log, range(3)), tmp_path / "kept", jobs=1, progress=lambda *step: told.append(step))
    assert computed(log) == [0, 1, 2]
    assert told == [("trials", done, 3) for done in range(4)]
    run_trials(squares(log, range(5)), tmp_path / "kept", jobs=1)
    assert computed(log) == [0, 1, 2, 3, 4]
    results = [load_result(trial, tmp_path / "kept") for trial in squares(log, range(5))]
    assert [int(result["square"]) for result in results] == [0, 1, 4, 9, 16]
    assert results[3]["many"].tolist() == [0, 1, 2]


def test_ctrl_c_keeps_what_was_done(tmp_path, log):
    kept = tmp_path / "kept"
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import trial_functions
from pathlib import Path
from fusewise.reproduce import Trial, run_trials
if __name__ == "__main__":
    trials = [Trial(trial_functions.slow, dict(number=k, log={str(log)!r})) for k in range(4)]
    run_trials(trials, Path({str(kept)!r}), jobs=1)
"""
    path = tmp_path / "run.py"
    path.write_text(script)
    # A session of its own, so that the signal reaches the workers too, as Ctrl-C in a terminal does, and not pytest.
    process = subprocess.Popen([sys.executable, str(path)], start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 300
        # Two results, and no temporary folder: what Ctrl-C leaves of one that is being deleted the next run deletes.
        while (len(list(kept.glob("*.npz"))) < 2 or len(list(kept.iterdir())) > 2) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=120) != 0
    finally:
        process.kill()
    assert computed(log) == [0, 1]
    assert sorted(path.suffix for path in kept.iterdir()) == [".npz", ".npz"]


def test_an_error_of_a_trial_is_passed_on(tmp_path):
    with pytest.raises(ArithmeticError, match="no result for 7"):
        run_trials([Trial(trial_functions.broken, {"number": 7})], tmp_path, jobs=1)
    assert not list(tmp_path.iterdir())


class TestKeeping:
    @pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nonsense", b"no archive at all"])
    def test_a_file_that_cannot_be_read_counts_as_missing(self, tmp_path, log, content):
        (trial,) = squares(log, (4,))
        (tmp_path / trial.file_name).write_bytes(content)
        assert load_result(trial, tmp_path) is None

    def test_a_result_of_another_version_counts_as_missing(self, tmp_path, log, monkeypatch):
        (trial,) = squares(log, (4,))
        run_trials([trial], tmp_path, jobs=1)
        assert load_result(trial, tmp_path) is not None
        monkeypatch.setattr("fusewise.__version__", "another")
        assert load_result(trial, tmp_path) is None

    def test_pickles_are_not_loaded(self, tmp_path, log):
        (trial,) = squares(log, (4,))
        objects = np.array([{"a": 1}], dtype=object)
        with (tmp_path / trial.file_name).open("wb") as file:
            np.savez(file, square=objects)
        assert load_result(trial, tmp_path) is None
