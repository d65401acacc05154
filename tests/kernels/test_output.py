import json

import numpy as np
import pytest

from fusewise.kernels.output import finite_json, written_whole


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


def test_json_is_finite_and_plain():
    data = {"a": [np.float64(1.5), np.nan, np.inf], 2: np.int64(3), "b": (True, None, "x"), "c": complex(1, 2)}
    assert json.loads(finite_json(data)) == {"a": [1.5, None, None], "2": 3, "b": [True, None, "x"], "c": "(1+2j)"}
