"""Conversion of objects to trees of plain JSON values, and back.

None, booleans, integers, finite floats, strings and lists are stored as they are. Everything else is an object with a
key ``"is"``: ``array``, ``text`` (an array of strings), ``csr_matrix``, ``tuple``, ``dict``, ``float`` (infinite or
NaN), or the name of a class that a model file may contain: no other class is instantiated, and no import depends on the
file.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from fusewise import automatic, observations, subspace, tables
from fusewise.fusion import FIDELITIES, PENALTIES, FusionPath, ObjectiveTerm, Solution
from fusewise.kernels import Values
from fusewise.observations import DaskBlocks, RowBlocks
from fusewise.support import verify

C = TypeVar("C", bound=type[Any])


def _by_name(*classes: type[Any]) -> dict[str, type[Any]]:
    return {known.__name__: known for known in classes}


#: Result dataclasses, saved field by field.
RECORDS = _by_name(
    FusionPath, Solution, subspace.Smooth, subspace.Subspace, tables.ColumnCode, tables.FrameEncoder,
    automatic.Alternative, automatic.AxisMixture, automatic.Choice, automatic.Clusters, automatic.ColumnMixture,
    automatic.Evidence, automatic.Hints, automatic.LayeredEvidence, automatic.MergeTree, automatic.Mixture,
    automatic.Powers, automatic.Stability, automatic.Units,
    observations.BoundedEntries, observations.ColumnMoments, observations.DaskTable, observations.Entries,
    observations.RowSample, observations.SparseEntries, observations.StreamedEntries, observations.ValueRanges,
)  # fmt: skip

#: Penalties and fidelities, saved by their parameters.
TERMS: dict[str, type[ObjectiveTerm]] = _by_name(*PENALTIES.values(), *FIDELITIES.values())

#: Estimators, saved by their parameters and fitted attributes; registered by ``saveable``.
ESTIMATORS: dict[str, type[BaseEstimator]] = {}


def saveable(kind: C) -> C:
    """Class decorator: register an estimator, or a record of its results, that can be saved and loaded."""
    known: dict[str, Any] = ESTIMATORS if issubclass(kind, BaseEstimator) else RECORDS
    known[kind.__name__] = kind
    return kind


#: Kinds of dtypes that can be saved: booleans, integers, real and complex numbers.
NUMERIC = "biufc"


class Encoder:
    """Convert objects to trees; arrays are collected in ``arrays``, each once."""

    def __init__(self) -> None:
        self.arrays: list[Values] = []
        self._places: dict[int, int] = {}

    def encode(self, value: Any, where: str) -> Any:
        """Return the tree of a value; `where` is its name in error messages."""
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, RowBlocks | DaskBlocks):
            return None  # a table on disk, or of Dask, is not copied into the file
        if isinstance(value, np.generic):
            return self.encode(value.item(), where)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else {"is": "float", "value": repr(float(value))}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, sparse.csr_matrix):
            parts = [self.encode(part, where) for part in (value.data, value.indices, value.indptr, *value.shape)]
            return {"is": "csr_matrix", "value": parts}
        if isinstance(value, list | tuple):
            items = [self.encode(item, f"{where}[{k}]") for k, item in enumerate(value)]
            return items if isinstance(value, list) else {"is": "tuple", "value": items}
        if isinstance(value, dict):
            pairs = [[self.encode(key, where), self.encode(item, f"{where}[{key!r}]")] for key, item in value.items()]
            return {"is": "dict", "value": pairs}
        return self._object(value, where)

    def _array(self, array: Values, where: str) -> dict[str, Any]:
        if array.dtype.kind == "O" and all(isinstance(word, str) for word in array.ravel()):
            return {"is": "text", "value": array.tolist()}
        if array.dtype.kind not in NUMERIC:
            raise TypeError(f"cannot save {where}: arrays must contain numbers, but its dtype is {array.dtype}")
        if id(array) not in self._places:
            self._places[id(array)] = len(self.arrays)
            self.arrays.append(array)  # also keeps the array alive, so that its id is not reused
        return {"is": "array", "value": self._places[id(array)]}

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        name = type(value).__name__
        if type(value) is RECORDS.get(name):
            parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        elif type(value) is TERMS.get(name):
            parts = value.get_params(deep=False)
        elif type(value) is ESTIMATORS.get(name):
            parameters = value.get_params(deep=False)
            fitted = {key: item for key, item in vars(value).items() if key not in parameters}
            return {"is": name, "parameters": self._parts(parameters, where), "fitted": self._parts(fitted, where)}
        else:
            raise TypeError(f"cannot save {where}: unsupported type {name}")
        return {"is": name, "parts": self._parts(parts, where)}

    def _parts(self, parts: dict[str, Any], where: str) -> dict[str, Any]:
        return {name: self.encode(value, f"{where}.{name}") for name, value in parts.items()}


class Decoder:
    """Convert trees back to objects; raises ValueError for anything that is not allowed in a model."""

    def __init__(self, arrays: Sequence[Values]) -> None:
        self.arrays = arrays

    def decode(self, tree: Any) -> Any:
        """Return the value of a tree."""
        if isinstance(tree, list):
            return [self.decode(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        name, value = tree.get("is"), tree.get("value")
        if name == "array" and isinstance(value, int) and 0 <= value < len(self.arrays):
            return self.arrays[value]
        if name == "text" and isinstance(value, list):
            return np.array([str(word) for word in value], dtype=object)
        if name == "float" and value in ("inf", "-inf", "nan"):
            return float(value)
        if name == "csr_matrix" and isinstance(value, list) and len(value) == 5:
            data, indices, indptr, n, p = map(self.decode, value)
            made = sparse.csr_matrix((data, indices, indptr), shape=(n, p))
            made.check_format()  # indices out of bounds would read other memory
            return made
        if name == "tuple" and isinstance(value, list):
            return tuple(self.decode(value))
        if name == "dict" and isinstance(value, list):
            return {self.decode(key): self.decode(item) for key, item in value}
        return self._object(str(name), tree)

    def _object(self, name: str, tree: dict[str, Any]) -> Any:
        if name in ESTIMATORS:
            return self._estimator(ESTIMATORS[name], tree)
        if name in RECORDS:
            fields = [field for field in dataclasses.fields(RECORDS[name]) if field.init]
            needed = {f.name for f in fields if f.default is f.default_factory is dataclasses.MISSING}
            made = RECORDS[name](**self._parts(name, tree.get("parts"), {f.name for f in fields}, needed))
            verify(made)
            return made
        if name in TERMS:
            kind = TERMS[name]
            return kind(**self._parts(name, tree.get("parts"), set(kind._get_param_names()), set()))
        if not ESTIMATORS:
            raise ValueError("no estimator has been imported: use fusewise.load, or import fusewise.estimators first")
        raise ValueError(f"{name!r} is not a class that a model can contain")

    def _estimator(self, kind: type[BaseEstimator], tree: dict[str, Any]) -> BaseEstimator:
        known = set(kind._get_param_names())
        model = kind(**self._parts(kind.__name__, tree.get("parameters"), known, set()))
        fitted = _mapping(tree.get("fitted"), kind.__name__)
        for name, value in fitted.items():
            if name not in kind._rules:
                raise ValueError(f"{kind.__name__} has no fitted attribute {name!r}")
            setattr(model, name, self.decode(value))
        if fitted.keys() - {"_sklearn_output_config"}:
            verify(model)
        return model

    def _parts(self, name: str, parts: Any, known: set[str], needed: set[str]) -> dict[str, Any]:
        """Decode the parts of an object, which must be those of its class in this version."""
        parts = _mapping(parts, name)
        given = set(parts)
        if given - known:
            raise ValueError(f"{name} has no part {sorted(given - known)[0]!r} in this version")
        if needed - given:
            raise ValueError(f"{name} needs the part {sorted(needed - given)[0]!r} in this version")
        return {key: self.decode(parts[key]) for key in given}


def _mapping(parts: Any, name: str) -> dict[str, Any]:
    if not isinstance(parts, dict):
        raise ValueError(f"the parts of {name} are missing")
    return parts
