"""Saved models: the same model back, and nothing else accepted, let alone run."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fusewise
from fusewise import FusionClustering, FusionImputer, PenalizedFusion
from fusewise.datasets import hide_entries, make_clusters
from fusewise.penalties import H1, Penalty
from fusewise.saving import ModelFileError, load_with_extra, save

pytestmark = pytest.mark.filterwarnings("ignore::fusewise.DataWarning")

MODELS = {
    "default": FusionClustering(),
    "default, K given": FusionClustering(n_clusters=2, random_state=np.int64(3)),
    "path": PenalizedFusion(),
    "one lam": PenalizedFusion(1.0, penalty=H1(0.5)),
    "graph": PenalizedFusion(penalty="mcp", n_neighbors=5),
    "ball": PenalizedFusion(fidelity="ball"),
    "box": PenalizedFusion(fidelity="box"),
    "imputer": FusionImputer(),
}


def table(seed=0, rows=25):
    X, _, _ = make_clusters(3, rows, 6, noise=0.1, random_state=0)
    X = hide_entries(X, 0.3, random_state=seed)
    X[4] = np.nan
    return X


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.fusewise"
    FusionClustering().fit(table()).save(path)
    return path


@pytest.fixture
def altered(saved, tmp_path):
    """A copy of the file with members changed."""

    def alter(changes, *, about=None, **options):
        with zipfile.ZipFile(saved) as file:
            members = {name: file.read(name) for name in file.namelist()}
        members |= {name: data for name, data in changes.items() if data is not None}
        members = {name: data for name, data in members.items() if changes.get(name, b"") is not None}
        manifest = json.loads(members.pop("manifest.json", b"{}")) | (about or {})
        path = tmp_path / "altered.fusewise"
        with zipfile.ZipFile(path, "w", **options) as file:
            for name, data in {**members, "manifest.json": json.dumps(manifest).encode()}.items():
                file.writestr(name, data)
        return path

    return alter


def same(one, other, where="model"):
    """Equal in every part, arrays to the last bit and of the same type."""
    assert type(one) is type(other) or np.isscalar(one), where
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        np.testing.assert_array_equal(one, other, err_msg=where)
        assert one.flags.writeable == other.flags.writeable, where
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            same(getattr(one, field.name), getattr(other, field.name), f"{where}.{field.name}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for k, pair in enumerate(zip(one, other, strict=True)):
            same(*pair, f"{where}[{k}]")
    elif isinstance(one, FusionClustering | FusionImputer | PenalizedFusion | Penalty):
        assert vars(one).keys() == vars(other).keys(), where
        for name in vars(one):
            same(vars(one)[name], vars(other)[name], f"{where}.{name}")
    else:
        np.testing.assert_equal(other, one, err_msg=where)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_everything_comes_back(tmp_path, name):
    from sklearn.base import clone

    model = clone(MODELS[name]).fit(table())
    model.save(tmp_path / "m.fusewise")
    back = fusewise.load(tmp_path / "m.fusewise")
    same(model, back)
    new = table(seed=7)
    np.testing.assert_array_equal(model.transform(new), back.transform(new))
    if not isinstance(model, FusionImputer):
        np.testing.assert_array_equal(model.predict(new), back.predict(new))
        assert model.score(new) == back.score(new)
    assert os.listdir(tmp_path) == ["m.fusewise"]


@pytest.mark.filterwarnings("ignore")
def test_other_tables_come_back(tmp_path):
    """Column names, complex numbers, single precision, and a model that was not fitted."""
    names = [f"größe {j}" for j in range(6)]
    frame = FusionClustering().fit(pd.DataFrame(table(), columns=names))
    complex_ = PenalizedFusion().fit(table() * (1 + 2j))
    single = FusionClustering().fit(table().astype(np.float32))
    for model in (frame, complex_, single, PenalizedFusion(np.inf, penalty=H1())):
        model.save(tmp_path / "m.fusewise")
        same(model, fusewise.load(tmp_path / "m.fusewise"))
    assert list(fusewise.load(tmp_path / "m.fusewise").get_params()["penalty"].get_params()) == ["sigma"]


def test_sparse_rows_that_point_outside_are_refused(altered):
    parts = [{"is": "array", "value": k} for k in range(3)] + [2, 2]
    tree = {
        "model": {
            "is": "FusionClustering",
            "parameters": {},
            "fitted": {"observations_": {"is": "csr_matrix", "value": parts}},
        }
    }
    arrays = (np.ones(2), np.array([0, 10**6]), np.array([0, 1, 2]))
    changes = {f"arrays/{k}.npy": npy(array) for k, array in enumerate(arrays)}
    # SciPy says "indices", earlier versions "column index values".
    refused(altered({**changes, "model.json": json.dumps({**tree, "extra": {}}).encode()}), "ind", "cannot be read: ")


def test_extra_values_come_back(tmp_path):
    save(FusionClustering(), tmp_path / "m", extra={"columns": ["a", 1, None, 0.1]})
    assert load_with_extra(tmp_path / "m")[1] == {"columns": ["a", 1, None, 0.1]}


def test_the_same_model_gives_the_same_file(saved, tmp_path):
    fusewise.load(saved).save(tmp_path / "again")
    assert saved.read_bytes() == (tmp_path / "again").read_bytes()


class Malicious:
    """What, unpickled, makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def npy(array, **options):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **options)
    return stream.getvalue()


def refused(path, message, *more):
    with pytest.raises(ModelFileError) as caught:
        fusewise.load(path)
    assert all(part in str(caught.value) for part in (message, *more))
    assert str(path) in str(caught.value)


def test_a_pickle_is_refused_and_not_run(tmp_path, altered):
    trap = Malicious(tmp_path / "sprung")
    path = tmp_path / "model.fusewise"
    path.write_bytes(pickle.dumps(trap))
    refused(path, "not a Fusewise model")
    array = np.empty(1, dtype=object)
    array[0] = trap
    refused(altered({"arrays/0.npy": npy(array, allow_pickle=True)}), "damaged: Object arrays cannot be loaded")
    assert not (tmp_path / "sprung").exists()
    os.rmdir(pickle.loads(pickle.dumps(trap)) or tmp_path / "sprung")  # the trap does work


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "Popen", "FusionEstimator", "__import__", "", None])
def test_a_foreign_class_is_refused(altered, name):
    tree = {"model": {"is": name, "parts": {"command": "true"}, "value": ["true"]}, "extra": {}}
    refused(altered({"model.json": json.dumps(tree).encode()}), "is not a class that a model can contain")


@pytest.mark.parametrize("attribute", ["__class__", "__dict__", "fit", "predict", "_read", "labels_\n", "a.b_"])
def test_a_model_cannot_be_given_other_methods(altered, attribute):
    tree = {"model": {"is": "FusionClustering", "parameters": {}, "fitted": {attribute: 1}}, "extra": {}}
    refused(altered({"model.json": json.dumps(tree).encode()}), "has no fitted attribute")


@pytest.mark.parametrize(("part", "message"), [
    ({"is": "MergeTree", "parts": {}}, "MergeTree needs the part 'linkage'"),
    ({"is": "MergeTree", "parts": {"linkage": 1, "later": 2}}, "MergeTree has no part 'later' in this version"),
    ({"is": "MergeTree"}, "the parts of MergeTree are missing"),
    ({"is": "H1", "parts": {"sigma": -1}}, "sigma"),
    ({"is": "array", "value": 10**6}, "'array'"),
    ({"is": "float", "value": "__import__('os')"}, "'float'"),
    ({"is": "dict", "value": [[[], 1]]}, "unhashable"),
])  # fmt: skip
def test_parts_that_are_not_those_of_their_class(altered, part, message):
    tree = {"model": {"is": "FusionClustering", "parameters": {}, "fitted": {"_result": part}}, "extra": {}}
    refused(altered({"model.json": json.dumps(tree).encode()}), message)


@pytest.mark.parametrize(("tree", "message"), [
    ({"model": {"is": "H1", "parts": {}}, "extra": {}}, "does not contain a model but H1"),
    ({"model": None, "extra": {}}, "does not contain a model"),
    ([1, 2], "does not contain a model"),
])  # fmt: skip
def test_a_file_without_a_model(altered, tree, message):
    refused(altered({"model.json": json.dumps(tree).encode()}), message)


@pytest.mark.parametrize("name", ["../outside.npy", "/etc/outside", "arrays/../../x.npy", "arrays\\1.npy", "C:x", "x"])
def test_other_names_are_never_written(tmp_path, altered, name):
    fusewise.load(altered({name: b"x"}))
    assert os.listdir(tmp_path) == ["altered.fusewise"]


def test_nothing_can_swell(altered):
    """Compression, and headers that do not match their bytes, are refused."""
    refused(altered({}, compression=zipfile.ZIP_DEFLATED), "is compressed")
    for shape in [(10**14,), (2**32, 2**32), (-3, -1), (2,)]:
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": shape})
        refused(altered({"arrays/0.npy": head.getvalue() + bytes(24)}), "damaged")
    refused(altered({"model.json": b"[" * 10**6}), "damaged")


@pytest.mark.parametrize("header", [
    "{[]:1}", "-" * 9000, "(" * 9000, "{'descr': '<f8', 'fortran_order': False, 'shape': (1e999,), }",
    "{'descr': 'O', 'fortran_order': False, 'shape': (), }", "{'descr': '<f3', 'fortran_order': False, 'shape': (), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "9" * 18 + ", " + "9" * 18 + "), }", "",
])  # fmt: skip
def test_headers_are_never_evaluated(altered, header):
    text = header.encode() + b"\n"
    refused(altered({"arrays/0.npy": b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text}), "damaged")


def test_versions(altered):
    refused(altered({}, about={"version": 7}), "by a newer version (format 7, this one reads 6): upgrade Fusewise")
    refused(altered({}, about={"version": 1}), "by an older version (format 1, this one reads 6): fit the model again")
    refused(altered({}, about={"format": "other"}), "its format is 'other'")
    refused(altered({}, about={"version": "1"}), "not a Fusewise model")
    refused(altered({}, about={"versions": None}), "damaged")


def test_other_archives(tmp_path, altered):
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as file:
        file.writestr("sheet.xml", "<a/>")
    refused(tmp_path / "other.zip", "is a zip archive, but not a Fusewise model")
    np.savez(tmp_path / "arrays.npz", a=np.zeros(3))
    refused(tmp_path / "arrays.npz", "not a Fusewise model")
    refused(altered({"arrays/0.npy": None}), "There is no item named 'arrays/0.npy'")


def test_every_truncation_is_refused(saved, tmp_path):
    data = saved.read_bytes()
    for length in {0, 1, 30, len(data) // 3, len(data) - 1, len(data) - 22, *range(0, len(data), 4001)}:
        (tmp_path / "cut").write_bytes(data[:length])
        refused(tmp_path / "cut", "")


@settings(max_examples=150, deadline=None)
@given(place=st.integers(0, 10**9) | st.integers(-3000, -1), bit=st.integers(0, 7))
def test_a_changed_bit_is_refused_or_of_no_effect(saved, tmp_path_factory, place, bit):
    """A date in the archive's directory, which is at the end, may change unnoticed; the model may not."""
    data = bytearray(saved.read_bytes())
    data[place % len(data)] ^= 1 << bit
    path = tmp_path_factory.getbasetemp() / "flipped"
    path.write_bytes(data)
    try:
        back = fusewise.load(path)
    except ModelFileError:
        return
    same(fusewise.load(saved), back)


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


def test_where_no_file_can_be(tmp_path):
    with pytest.raises(OSError, match="it is a folder"):
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
