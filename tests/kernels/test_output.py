import json
import os
import subprocess
import sys

import numpy as np
import pytest

from fusewise.support.files import finish_killed_runs, finite_json, written_together, written_whole

#: Two files replace old ones and one is new; the process dies instead of renaming or deleting the n-th time.
KILLED = """
import os, sys
from pathlib import Path
from fusewise.support.files import written_together
left = [int(sys.argv[1])]
def dying(function):
    def call(*paths, **options):
        left[0] -= 1
        if left[0] == 0:
            os._exit(9)
        return function(*paths, **options)
    return call
for name in ("replace", "unlink", "rmdir"):
    setattr(os, name, dying(getattr(os, name)))
with written_together([Path(name) for name in "abc"], replace=True) as places:
    for place in places.values():
        place.write_text("new")
"""


#: The same, for two folders.
KILLED_IN_TWO = KILLED.replace('"abc"', '("tables/a", "tables/b", "models/m")')


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_a_file_takes_its_name_when_it_is_whole(tmp_path):
    path = tmp_path / "x.bin"
    with written_whole(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_what_was_there_stays_if_writing_fails(tmp_path, error):
    path = tmp_path / "x.bin"
    path.write_bytes(b"old")

    def fail():
        with written_whole(path) as file:
            file.write(b"ha")
            raise error

    with pytest.raises(error if isinstance(error, type) else OSError):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_errors_name_the_users_file(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"cannot write '.*missing/x.bin'"),
        written_whole(tmp_path / "missing/x.bin"),
    ):
        pass


@pytest.mark.parametrize("moment", range(1, 13))
def test_a_killed_run_leaves_old_or_new_files_and_the_next_run_the_rest(tmp_path, moment):
    for name in "ab":
        (tmp_path / name).write_text("old")
    assert subprocess.run([sys.executable, "-c", KILLED, str(moment)], cwd=tmp_path, check=False).returncode == 9
    assert len(set(contents(tmp_path).values())) <= 1
    with written_together([tmp_path / "other"], replace=False) as places:
        places[tmp_path / "other"].write_text("x")
    old = {"a": "old", "b": "old", "other": "x"}
    assert contents(tmp_path) == (old if moment <= 3 else {"a": "new", "b": "new", "c": "new", "other": "x"})
    assert len(list(tmp_path.iterdir())) == len(contents(tmp_path))


@pytest.mark.parametrize(
    ("moment", "next_run"),
    [(4, "models"), (5, "tables"), *((k, ("models", "tables")[(k + 1) % 2]) for k in range(1, 13))],
)
def test_a_killed_run_leaves_files_of_one_run_in_all_of_its_folders(tmp_path, moment, next_run):
    tmp_path = tmp_path / "here"
    tmp_path.mkdir()
    folders = tmp_path / "tables", tmp_path / "models"
    for folder, names in zip(folders, ("ab", "m"), strict=True):
        folder.mkdir()
        for name in names:
            (folder / name).write_text("old")
    assert subprocess.run([sys.executable, "-c", KILLED_IN_TWO, str(moment)], cwd=tmp_path, check=False).returncode == 9
    assert all(len(set(contents(folder).values())) <= 1 for folder in folders)
    tmp_path = tmp_path.rename(tmp_path.with_name("moved"))
    finish_killed_runs(tmp_path / next_run)
    found = contents(tmp_path / "tables") | contents(tmp_path / "models")
    assert found == dict.fromkeys("abm", "old" if moment <= 4 else "new")
    for folder in ("tables", "models"):
        finish_killed_runs(tmp_path / folder)
    assert len(list(tmp_path.rglob("*"))) == 5


def test_if_a_file_cannot_be_moved_all_folders_are_as_before(tmp_path, monkeypatch):
    targets = [tmp_path / "tables/a", tmp_path / "models/m", tmp_path / "models/n"]
    for folder in ("tables", "models"):
        (tmp_path / folder).mkdir()
    for target in targets[:2]:
        target.write_text("old")

    def replace(source, target, _replace=os.replace):
        if target == targets[2]:
            raise PermissionError(1, "not permitted")
        _replace(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(PermissionError), written_together(targets, replace=True) as places:  # noqa: PT012
        for place in places.values():
            place.write_text("new")
    assert contents(tmp_path / "tables") == {"a": "old"}
    assert contents(tmp_path / "models") == {"m": "old"}
    assert not list(tmp_path.rglob(".fusewise-*"))


def test_a_file_written_by_another_run_meanwhile_is_not_replaced(tmp_path):
    def write(name, inner=()):
        with written_together([tmp_path / "mine", tmp_path / "shared"], replace=False) as places:
            for place in places.values():
                place.write_text(name)
            for other in inner:
                write(other)

    with pytest.raises(
        FileExistsError, match="mine' was written by another program meanwhile, and is kept: choose another name"
    ):
        write("first", inner=["second"])
    assert contents(tmp_path) == {"mine": "second", "shared": "second"}
    assert len(list(tmp_path.iterdir())) == 2


def test_the_files_of_a_run_that_lives_are_left_alone(tmp_path):
    with written_together([tmp_path / "x"], replace=False) as places:
        places[tmp_path / "x"].write_text("1")
        finish_killed_runs(tmp_path)
    assert contents(tmp_path) == {"x": "1"}


def test_json_is_finite_and_plain():
    data = {"a": [np.float64(1.5), np.nan, np.inf], 2: np.int64(3), "b": (True, None, "x"), "c": complex(1, 2)}
    assert json.loads(finite_json(data)) == {"a": [1.5, None, None], "2": 3, "b": [True, None, "x"], "c": "(1+2j)"}


def planted(folder, name=".fusewise-0123abcd"):
    """A temporary folder as of a killed run, that came with an archive."""
    stage = folder / name
    (stage / "before").mkdir(parents=True)
    (stage / "drafts").mkdir()
    return stage


@pytest.fixture
def precious(tmp_path):
    """A folder of the user's, with files in it that a stage has as well."""
    for place in ("precious/before/photo", "precious/drafts/letter", "precious/work"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("mine")
    return tmp_path / "precious"


@pytest.mark.parametrize("told", ["planned", "complete", "first", "link", "drafts", "before"])
def test_a_planted_stage_does_not_touch_other_folders(tmp_path, precious, told):
    before = {path: path.is_file() and path.read_text() for path in precious.rglob("*")}
    results = tmp_path / "results"
    results.mkdir()
    if told == "link":
        (results / ".fusewise-0123abcd").symlink_to(precious)
    else:
        stage = planted(results)
    if told == "first":
        (stage / "first").write_text("../../precious")
    elif told in ("planned", "complete"):
        (stage / told).write_text(json.dumps(["../../precious", str(precious)]))
    elif told in ("drafts", "before"):
        (stage / told).rmdir()
        (stage / told).symlink_to(precious / told)
        (stage / ("complete" if told == "drafts" else "planned")).write_text("[]")
    with written_together([results / "a"], replace=True) as places:
        places[results / "a"].write_text("new")
    assert {path: path.is_file() and path.read_text() for path in precious.rglob("*")} == before
    assert contents(results) == {"a": "new"}
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("content", [
    b"[" * 100_000, b"5", b"[5, null]", b'["\\u0000"]', b"\xff\xfe", b"nonsense", b'["' + b"a/" * 3000 + b'"]', None,
])  # fmt: skip
def test_nonsense_in_a_planted_stage_is_no_error(tmp_path, content):
    for name in ("planned", "complete", "first", "lock"):
        stage = planted(tmp_path / name)
        if content is None:
            os.mkfifo(stage / name)  # which nobody writes to
        else:
            (stage / name).write_bytes(content)
        with written_together([tmp_path / name / "a"], replace=False) as places:
            places[tmp_path / name / "a"].write_text("new")
        assert contents(tmp_path / name) == {"a": "new"}
