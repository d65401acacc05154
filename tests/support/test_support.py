"""Files written whole, plain JSON, and words of messages."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from fusewise.support import counted, finite_json, readable, readable_apart, some_of, written_together, written_whole

#: Two files replace old ones and one is new, in two folders; the process dies before its n-th change of a folder.
KILLED = """
import os, sys
from pathlib import Path
from fusewise.support import written_together
left = [int(sys.argv[1])]
def dying(function):
    def call(*paths, **options):
        left[0] -= 1
        if left[0] == 0:
            os._exit(9)
        return function(*paths, **options)
    return call
for name in ("replace", "rmdir"):
    setattr(os, name, dying(getattr(os, name)))
with written_together([Path(name) for name in ("a", "b", "models/m")], replace=True) as places:
    for place in places.values():
        place.write_text("new")
"""


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


@pytest.mark.parametrize("moment", range(1, 6))
def test_a_killed_run_leaves_every_file_old_or_new(tmp_path, moment):
    (tmp_path / "models").mkdir()
    for name in "ab":
        (tmp_path / name).write_text("old")
    assert subprocess.run([sys.executable, "-c", KILLED, str(moment)], cwd=tmp_path, check=False).returncode == 9
    assert set(contents(tmp_path)) == {"a", "b"}
    assert set(contents(tmp_path).values()) <= {"old", "new"}
    assert contents(tmp_path / "models") in ({}, {"m": "new"})


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


def test_json_is_finite_and_plain():
    data = {"a": [np.float64(1.5), np.nan, np.inf], 2: np.int64(3), "b": (True, None, "x"), "c": complex(1, 2)}
    assert json.loads(finite_json(data)) == {"a": [1.5, None, None], "2": 3, "b": [True, None, "x"], "c": "(1+2j)"}


@pytest.mark.parametrize(
    ("n", "said"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (1_000_000, "1,000,000 rows"), (-1, "-1 rows")]
)
def test_counted(n, said):
    assert counted(n, "row") == said


def test_irregular_plurals_are_given():
    assert [counted(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]


def test_some_of():
    assert some_of(["a", "b"]) == "a, b"
    assert some_of(list("abcdefgh")) == "a, b, c, d, e, f, g, h"
    assert some_of(range(5), most=3) == "0, 1, 2 and 2 more"


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.012345, "0.0123"), (12.345, "12.3"), (1234.5, "1234"), (1995, "1995"), (12345, "12,345"), (9999.9, "10,000"),
     (-3.0, "−3"), (1e9, "1e+09"), (float("nan"), "–")],
)  # fmt: skip
def test_readable(value, said):
    assert readable(value) == said


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1.0, 2.0, 2.0], ["1", "2", "2"]),
        ([50.7313, 50.7399, 0.5], ["50.73", "50.74", "0.5"]),
        ([2633.7, 2634.2, 12.0], ["2633.7", "2634.2", "12"]),
        ([float("nan"), 3.0, float("nan")], ["–", "3", "–"]),
        ([], []),
    ],
)
def test_different_numbers_read_differently(values, said):
    assert readable_apart(values) == said
