"""Forged model files, whose checksums agree: refused, or a model whose every use ends in a result or a plain error."""

from __future__ import annotations

import numpy as np
import pytest

import fusewise
from fusewise import FusionClustering, PenalizedFusion
from fusewise.datasets import hide_entries, make_clusters
from fusewise.kernels._compiling import Loop
from fusewise.saving import ModelFileError
from fusewise.saving import _archive as archive
from fusewise.saving._codec import ESTIMATORS, RECORDS
from fusewise.support import Record

X = hide_entries(make_clusters(3, 20, 6, noise=0.3, random_state=0)[0], 0.3, random_state=0)
WIDE = hide_entries(make_clusters(3, 200, 8, noise=0.3, random_state=0)[0], 0.3, random_state=0)  # compiled loops
SKEWED = np.exp(np.random.default_rng(0).normal(size=(600, 6)))  # made symmetric


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Tree and arrays of saved models."""
    path = tmp_path_factory.mktemp("forged") / "m"
    kept = {}
    for name, model, table in (
        ("default", FusionClustering(), WIDE), ("paper", PenalizedFusion(), X), ("skewed", FusionClustering(), SKEWED),
    ):  # fmt: skip
        model.fit(table).save(path)
        _, tree, arrays = archive.read_archive(path)
        kept[name] = tree, arrays
    return kept


def where(tree, *names):
    """The array number at some place of a tree."""
    node = tree["model"]
    for name in names:
        node = node.get("fitted", node.get("parts"))[name]
    return node["value"]


def set_to(place, value):
    def changed(array):
        array = array.copy()
        array[place] = value
        return array

    return changed


def of_rank(size):
    """Spreads of another rank: larger ones made compiled loops write out of bounds, smaller ones read stray memory."""
    return lambda array: np.repeat(np.eye(size)[None], len(array), axis=0)


POWERS = "_result", "choice", "units", "powers"


@pytest.mark.parametrize(("names", "change", "message"), [
    ((*POWERS, "exponents"), lambda array: array[:-1], "along V"),
    ((*POWERS, "exponents"), set_to(0, np.inf), "not finite"),
    ((*POWERS, "before"), set_to((0, 3), 0.0), "multiplied by zero"),
    ((*POWERS, "after"), lambda array: array[:1], "along 2"),
    (("_result", "choice", "tree", "linkage"), set_to((0, 0), 10**6), "is not a tree"),
    (("_result", "choice", "tree", "linkage"), set_to((0, 0), 1198), "is not a tree"),  # without an end
    (("_result", "choice", "tree", "linkage"), set_to((5, 3), 10**9), "does not count its points"),
    (("_result", "choice", "evidence", "pattern"), set_to(3, 10**9), "but there are"),
    (("_result", "choice", "evidence", "dimensions"), set_to(3, 10**9), "but there are"),
    (("_result", "choice", "units", "columns"), set_to(0, 8), "but there are 8"),
    (("_result", "choice", "units", "scale"), set_to(0, 0.0), "a column of zero"),
    (("_result", "choice", "units", "middle"), lambda array: array.astype(complex), "complex and the clusters"),
    (("_result", "choice", "mixture", "spreads"), set_to((0, 0, 0), np.nan), "not finite"),
    (("_result", "choice", "mixture", "spreads"), of_rank(1), r"Mixture\.spreads has \d+ along r"),
    (("_result", "choice", "mixture", "spreads"), of_rank(64), r"Mixture\.spreads has \d+ along r"),
    (("_result", "choice", "mixture", "spreads"), set_to((0, 0, 0), -1.0), "not a covariance"),
    (("_result", "labels"), set_to(0, 99), "has an entry 99"),
    (("_result", "posterior"), lambda array: array[:, :-1], "along K"),
    (("observations_", "values"), lambda array: array + 1, "not zero where"),
])  # fmt: skip
def test_contents_out_of_range_are_refused(parts, tmp_path, names, change, message):
    tree, arrays = parts["skewed" if "powers" in names else "default"]
    place = where(tree, *names)
    forged = [change(array) if k == place else array for k, array in enumerate(arrays)]
    archive.write_archive(tmp_path / "m", "FusionClustering", tree, forged)
    with pytest.raises(ModelFileError, match=message):
        fusewise.load(tmp_path / "m")


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
