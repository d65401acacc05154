"""Forged model files: refused, or a model whose every use ends in a result or a plain error."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from forging import bent_array, bent_tree

import fusewise
from fusewise import FusionClustering, FusionImputer, PenalizedFusion
from fusewise.automatic._units import Powers
from fusewise.datasets import hide_entries, make_clusters
from fusewise.kernels._compiling import Loop
from fusewise.observations import as_entries
from fusewise.saving import ModelFileError
from fusewise.saving import _archive as archive
from fusewise.saving._codec import ESTIMATORS, RECORDS
from fusewise.support import Record

X = hide_entries(make_clusters(3, 20, 6, noise=0.3, random_state=0)[0], 0.3, random_state=0)
WIDE = hide_entries(make_clusters(3, 200, 8, noise=0.3, random_state=0)[0], 0.3, random_state=0)  # compiled loops
SKEWED = np.random.default_rng(0).lognormal(size=(600, 8))  # made symmetric
TABLES = {"default": WIDE, "skewed": SKEWED}


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Tree and arrays of saved models."""
    path = tmp_path_factory.mktemp("forged") / "m"
    kept = {}
    models = {
        "default": FusionClustering(),
        "paper": PenalizedFusion(),
        "imputer": FusionImputer(),
        "skewed": FusionClustering(),
    }
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(TABLES.get(name, X))
            if name == "skewed":
                units = model.path_.units
                powers = Powers.of(units.scaled(as_entries(SKEWED)))
                choice = replace(model.path_, units=replace(units, powers=powers))
                model._result = replace(model._result, choice=choice)
            model.save(path)
        _, tree, arrays = archive.read_archive(path)
        kept[name] = tree, arrays
    return kept


def forge(path, tree, arrays):
    """What ``load`` makes of a file, or None if it is refused."""
    archive.write_archive(path, "FusionClustering", tree, arrays)
    try:
        return fusewise.load(path)
    except ModelFileError:
        return None


def where(tree, *names):
    """The array number at some place of a tree."""
    node = tree["model"]
    for name in names:
        node = node.get("fitted", node.get("parts"))[name]
    return node["value"]


@pytest.mark.parametrize("size", [1, 2, 64])
def test_spreads_of_another_rank_are_refused(parts, tmp_path, size):
    """Larger ones made compiled loops write out of bounds (SIGSEGV); smaller ones made them read stray memory."""
    tree, arrays = parts["default"]
    place = where(tree, "_result", "choice", "mixture", "spreads")
    forged = [np.repeat(np.eye(size)[None], len(a), axis=0) if k == place else a for k, a in enumerate(arrays)]
    archive.write_archive(tmp_path / "m", "FusionClustering", tree, forged)
    with pytest.raises(ModelFileError, match=r"Mixture\.spreads has \d+ along r"):
        fusewise.load(tmp_path / "m")


def linkage(change):
    def changed(array):
        array = array.copy()
        change(array)
        return array

    return changed


def set_to(place, value):
    def change(array):
        array[place] = value

    return linkage(change)


@pytest.mark.parametrize(("names", "change", "message"), [
    (("_result", "choice", "tree", "linkage"), set_to((0, 0), 10**6), "is not a tree"),
    (("_result", "choice", "tree", "linkage"), set_to((0, 0), 1198), "is not a tree"),  # without an end
    (("_result", "choice", "tree", "linkage"), set_to((5, 3), 10**9), "does not count its points"),
    (("_result", "choice", "evidence", "pattern"), set_to(3, 10**9), "but there are"),
    (("_result", "choice", "evidence", "dimensions"), set_to(3, 10**9), "but there are"),
    (("_result", "choice", "units", "columns"), set_to(0, 8), "but there are 8"),
    (("_result", "choice", "units", "scale"), set_to(0, 0.0), "a column of zero"),
    (("_result", "choice", "units", "middle"), lambda array: array.astype(complex), "complex and the clusters"),
    (("_result", "choice", "mixture", "spreads"), set_to((0, 0, 0), np.nan), "not finite"),
    (("_result", "choice", "mixture", "spreads"), set_to((0, 0, 0), -1.0), "not a covariance"),
    (("_result", "labels"), set_to(0, 99), "has an entry 99"),
    (("_result", "order"), set_to(slice(None), 0), "not an order"),
    (("_result", "posterior"), lambda array: array[:, :-1], "along K"),
    (("observations_", "values"), lambda array: array + 1, "not zero where"),
])  # fmt: skip
def test_contents_out_of_range_are_refused(parts, tmp_path, names, change, message):
    tree, arrays = parts["default"]
    place = where(tree, *names)
    forged = [change(array) if k == place else array for k, array in enumerate(arrays)]
    archive.write_archive(tmp_path / "m", "FusionClustering", tree, forged)
    with pytest.raises(ModelFileError, match=message):
        fusewise.load(tmp_path / "m")


@pytest.mark.parametrize(("names", "change", "message"), [
    (("exponents",), lambda array: array[:-1], "along V"),
    (("exponents",), set_to(0, np.inf), "not finite"),
    (("before",), set_to((0, 3), 0.0), "multiplied by zero"),
    (("after",), lambda array: array[:1], "along 2"),
])  # fmt: skip
def test_powers_out_of_range_are_refused(parts, tmp_path, names, change, message):
    tree, arrays = parts["skewed"]
    place = where(tree, "_result", "choice", "units", "powers", *names)
    forged = [change(array) if k == place else array for k, array in enumerate(arrays)]
    archive.write_archive(tmp_path / "m", "FusionClustering", tree, forged)
    with pytest.raises(ModelFileError, match=message):
        fusewise.load(tmp_path / "m")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["default", "paper", "imputer", "skewed"])
def test_a_forged_model_is_refused_or_harmless(parts, tmp_path, name):
    random = np.random.default_rng(0)
    tree, arrays = parts[name]
    new = TABLES.get(name, X)[:5]
    loaded = 0
    for _ in range(60):
        forged, own = tree, list(arrays)
        if random.random() < 0.5:
            k = random.integers(len(arrays))
            own[k] = bent_array(random, arrays[k])
        else:
            forged = bent_tree(random, tree)
        model = forge(tmp_path / "m", forged, own)
        if model is None:
            continue
        loaded += 1
        for use in ("predict", "transform", "score"):
            if hasattr(model, use):
                with np.errstate(all="ignore"):
                    try:
                        getattr(model, use)(new)
                    except (ValueError, TypeError, AttributeError):
                        continue
    assert loaded  # some changes are of no effect


def test_damaged_bytes_give_one_kind_of_error(parts, tmp_path):
    """Offsets in the archive's directory that point before the file made an OSError."""
    path = tmp_path / "m"
    archive.write_archive(path, "FusionClustering", *parts["paper"])
    data, random = path.read_bytes(), np.random.default_rng(1)
    for _ in range(150):
        bent = bytearray(data)
        for place in len(data) - 1 - random.integers(min(len(data), 3000), size=3):  # the directory is at the end
            bent[place] = random.integers(256)
        path.write_bytes(bent)
        try:
            fusewise.load(path)
        except ModelFileError:
            continue


def test_every_class_that_can_be_loaded_declares_all_its_fields():
    import dataclasses

    for kind in RECORDS.values():
        assert issubclass(kind, Record), kind
        fields = {field.name for field in dataclasses.fields(kind) if field.init} - {"source", "encode", "status"}
        assert fields <= set(kind._rules), kind
    for kind in ESTIMATORS.values():
        assert issubclass(kind, Record)
        assert kind._rules


def test_compiled_loops_refuse_arrays_that_do_not_fit():
    from fusewise.kernels import each_applied, pattern_distances

    with pytest.raises(ValueError, match="along r"):
        each_applied(np.zeros((3, 3, 2)), np.zeros(5, int), np.zeros((2, 5)))
    with pytest.raises(ValueError, match="along r"):
        pattern_distances(
            np.zeros((3, 3, 2)), np.zeros((1, 64, 64)), np.zeros(5, int), np.zeros((3, 5)), np.zeros((1, 3)), False
        )
    with pytest.raises(TypeError, match="called by other loops only"):
        Loop(lambda x: x)(1)


def test_objects_are_checked_when_they_are_made():
    from fusewise.automatic._mixture import Mixture
    from fusewise.observations import Entries

    with pytest.raises(ValueError, match=r"Entries\.mask has 2 along P, where 3 are expected"):
        Entries(np.zeros((4, 3)), np.ones((4, 2), bool))
    with pytest.raises(ValueError, match=r"Mixture\.spreads has 2 along r"):
        Mixture(np.zeros((1, 3)), np.zeros((1, 2, 2)), np.ones(1), "full", 0.0, 1.0)
