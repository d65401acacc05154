"""Writing of model files: what cannot be saved, and where."""

import os

import numpy as np
import pytest

import fusewise
from fusewise import FusionClustering, PenalizedFusion
from fusewise.datasets import hide_entries, make_clusters
from fusewise.penalties import Penalty
from fusewise.support import _files as output


class Own(Penalty):
    """A penalty the library does not know."""


@pytest.mark.parametrize(("model", "message"), [
    (PenalizedFusion(penalty=Own()), "PenalizedFusion.penalty: unsupported type Own"),
    (FusionClustering(random_state=np.random.RandomState(0)), "random_state: unsupported type RandomState"),
    (PenalizedFusion(init=np.array([object()])), "PenalizedFusion.init: arrays must contain numbers"),
])  # fmt: skip
def test_what_cannot_be_saved_is_named_and_leaves_nothing(tmp_path, model, message):
    with pytest.raises(TypeError, match=r"cannot save") as caught:
        model.save(tmp_path / "m")
    assert message in str(caught.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch, error):
    PenalizedFusion(1.0).save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()

    def fail(*_):
        raise error

    monkeypatch.setattr(output.os, "fsync", fail)
    with pytest.raises(type(error)):
        PenalizedFusion(2.0).save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    assert os.listdir(tmp_path) == ["m"]


def test_where_no_file_can_be(tmp_path):
    with pytest.raises(OSError, match="it exists and is not a regular file"):
        FusionClustering().save(tmp_path)
    with pytest.raises(FileNotFoundError):
        FusionClustering().save(tmp_path / "no" / "m")
    with pytest.raises(FileNotFoundError):
        fusewise.load(tmp_path / "none")
    assert os.listdir(tmp_path) == []


def test_shared_arrays_are_saved_once(tmp_path):
    X = hide_entries(make_clusters(3, 25, 6, noise=0.1, random_state=0)[0], 0.3, random_state=0)
    PenalizedFusion().fit(X).save(tmp_path / "m")
    back = fusewise.load(tmp_path / "m")
    assert len(back.path_) > 5
    assert all(s.observations.values is back.path_[0].observations.values for s in back.path_)
