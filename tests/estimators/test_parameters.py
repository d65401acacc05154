"""Parameters of the wrong type, out of range, or misspelt: answered in plain words before any work."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from fusewise import FusionClustering, FusionImputer, PenalizedFusion, fuse

X = np.random.default_rng(0).normal(size=(12, 3))


NUMBERS = [
    ({"n_clusters": "3"}, "n_clusters must be a whole number or None, got '3'"),
    ({"n_clusters": 1.5}, r"n_clusters must be a whole number or None, got 1\.5"),
    ({"n_clusters": np.nan}, "n_clusters must be a whole number or None, got nan"),
    ({"n_clusters": True}, "n_clusters must be a whole number or None, got True"),
    ({"n_clusters": 0}, "n_clusters must be at least 1, got 0"),
    ({"n_clusters": 100}, "n_clusters=100 exceeds the 12 rows"),
    ({"device": None}, "device must be text, got None"),
    ({"verbose": "yes"}, "verbose must be a whole number or"),
    ({"random_state": "x"}, "random_state|seed"),
]


@pytest.mark.parametrize(("parameters", "message"), [
    *NUMBERS,
    ({"min_cluster_size": "auto"}, "min_cluster_size must be a whole number or None, got 'auto'"),
    ({"min_cluster_size": 0}, "min_cluster_size must be at least 1, got 0"),
    ({"semi_supervised": "yes"}, "semi_supervised must be True or False"),
    ({"device": "cuda"}, "device='cuda': this method computes on the CPU.*PenalizedFusion computes on a GPU"),
])  # fmt: skip
@pytest.mark.parametrize("kind", [FusionClustering, FusionImputer])
def test_parameters_of_the_default_method(kind, parameters, message):
    with pytest.raises(ValueError, match=message):
        kind(**parameters).fit(X)


@pytest.mark.parametrize(("parameters", "message"), [
    *NUMBERS,
    ({"rank": 2.5}, r"rank must be a whole number or 'auto' or None, got 2\.5"),
    ({"rank": 0}, "rank must be at least 1, got 0"),
    ({"n_neighbors": "few"}, "n_neighbors must be a whole number or 'auto' or None, got 'few'"),
    ({"max_iter": 0}, "max_iter must be at least 1"),
    ({"max_iter": "many"}, "max_iter must be a whole number, got 'many'"),
    ({"tol": "x"}, "tol must be a number, got 'x'"),
    ({"tol": np.nan}, "tol must be finite, got nan"),
    ({"lam": "large"}, "lam must be a number or 'auto', got 'large'"),
    ({"lam": np.array([1.0])}, "lam must be a number or 'auto', got an array"),
    ({"lam": np.inf}, "lam must be finite, got inf"),
    ({"lam": -1.0}, "lam must be at least 0"),
    ({"device": "tpu"}, "unknown device 'tpu'"),
    ({"penalty": 3}, "unknown penalty 3"),
    ({"penalty": "l2"}, "'l0', 'l1', 'lp', 'h1'"),
    ({"penalty": "l0"}, "solve_l0"),
    ({"fidelity": None}, "unknown fidelity None: use one of 'quadratic', 'box', 'ball'"),
    ({"init": "random"}, "'partial', 'zero', 'mean'"),
])  # fmt: skip
def test_parameters_of_the_papers_algorithm(parameters, message):
    with pytest.raises((ValueError, TypeError), match=message):
        PenalizedFusion(**parameters).fit(X)


@pytest.mark.parametrize(("parameters", "message"), [
    ({"rank": 2.5}, r"rank must be a whole number or None, got 2\.5"),
    ({"n_neighbors": "x"}, "n_neighbors must be a whole number or None or 'auto', got 'x'"),
    ({"n_neighbors": 1.5}, "n_neighbors must be a whole number or None or 'auto'"),
    ({"tol": "x"}, "tol must be a number, got 'x'"),
    ({"max_iter": 2.0}, "max_iter must be a whole number"),
    ({"min_overlap": "x"}, "min_overlap must be a whole number or None"),
    ({"device": None}, "device must be text, got None"),
    ({"lam": "x"}, "lam must be a number, got 'x'"),
])  # fmt: skip
def test_parameters_of_fuse(parameters, message):
    with pytest.raises(ValueError, match=message):
        fuse(X, **({"lam": 1.0} | parameters))


def test_misspelt_parameters():
    with pytest.raises(ValueError, match="FusionClustering has no parameter 'n_cluster': did you mean 'n_clusters'"):
        FusionClustering().set_params(n_cluster=3)
    with pytest.raises(ValueError, match="has no parameter 'xyz': its parameters are categorical_features, device"):
        FusionImputer().set_params(xyz=3)
    with pytest.raises(
        TypeError, match=r"^FusionClustering has no parameter 'n_cluster': did you mean 'n_clusters'\?$"
    ):
        FusionClustering(n_cluster=3)


@pytest.mark.parametrize("name", ["lam", "penalty", "fidelity", "init", "rank", "n_neighbors", "max_iter", "tol"])
@pytest.mark.parametrize("kind", [FusionClustering, FusionImputer])
def test_parameters_of_the_papers_algorithm_are_referred_to_its_estimator(kind, name):
    message = f"^{kind.__name__} has no parameter '{name}': it is a parameter of PenalizedFusion$"
    with pytest.raises(TypeError, match=message):
        kind(**{name: 1})
    with pytest.raises(ValueError, match=message):
        kind().set_params(**{name: 1})
    with pytest.raises(ValueError, match=r"'penalty__sigma': it is a parameter of PenalizedFusion"):
        kind().set_params(penalty__sigma=1)


@pytest.mark.parametrize("name", ["outliers", "min_cluster_size", "semi_supervised", "categorical_features"])
def test_parameters_of_the_default_method_are_referred_to_its_estimator(name):
    with pytest.raises(TypeError, match=f"PenalizedFusion has no parameter '{name}': .* of FusionClustering"):
        PenalizedFusion(**{name: 1})


def test_only_the_first_parameter_can_be_given_by_position():
    for kind, first in ((FusionClustering, "n_clusters"), (FusionImputer, "n_clusters"), (PenalizedFusion, "lam")):
        parameters = list(inspect.signature(kind).parameters.values())
        assert parameters[0].name == first
        assert all(parameter.kind == parameter.KEYWORD_ONLY for parameter in parameters[1:])


@pytest.mark.parametrize(
    ("kind", "name"),
    [(PenalizedFusion, "rank"), (PenalizedFusion, "n_neighbors"), (FusionClustering, "n_clusters"),
     (FusionClustering, "min_cluster_size")],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_small_integers_of_numpy_are_numbers_like_others(kind, name):
    found, same = (kind(**{name: value}).fit(X).labels_ for value in (np.int8(2), 2))
    np.testing.assert_array_equal(found, same)


@pytest.mark.parametrize(
    "given", [3, 1.5, [0.5], [[0, 1]], [[0], [1, 2]], (1, None), {"x": 1}, object(), [b"x"], np.zeros((2, 2), int)]
)
def test_categories_that_are_neither_mask_nor_indices_nor_names(given):
    with pytest.raises(
        ValueError, match=r"(?s)categorical_features(=.*: use 'from_dtype', a mask| names .* not a column)"
    ):
        FusionClustering(categorical_features=given).fit(X)
