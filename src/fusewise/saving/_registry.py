"""The classes that a model file may contain. No other class is instantiated, and no import depends on the file."""

from __future__ import annotations

from typing import Any, TypeVar

from sklearn.base import BaseEstimator

from fusewise.automatic import (
    Alternative,
    AxisMixture,
    Choice,
    Clusters,
    ColumnMixture,
    Evidence,
    Hints,
    MergeTree,
    Mixture,
    Powers,
    Smooth,
    Stability,
    Units,
)
from fusewise.fusion import FIDELITIES, PENALTIES, FusionPath, Parameterised, Solution
from fusewise.observations import (
    BoundedEntries,
    ColumnMoments,
    DaskTable,
    Entries,
    RowSample,
    SparseEntries,
    StreamedEntries,
    StreamSummary,
    ValueRanges,
)
from fusewise.subspace import Subspace
from fusewise.tables import ColumnCode, FrameEncoder

C = TypeVar("C", bound=type[Any])


def _by_name(*classes: type[Any]) -> dict[str, type[Any]]:
    return {known.__name__: known for known in classes}


#: Result dataclasses, saved field by field.
RECORDS = _by_name(
    Alternative, AxisMixture, BoundedEntries, Choice, Clusters, ColumnCode, ColumnMixture, ColumnMoments, DaskTable,
    Entries, Evidence, FrameEncoder, FusionPath, Hints, MergeTree, Mixture, Powers, RowSample, Smooth,
    Solution, SparseEntries, Stability, StreamSummary, StreamedEntries, Subspace, Units, ValueRanges,
)  # fmt: skip

#: Penalties and fidelities, saved by their parameters.
PARAMETERISED: dict[str, type[Parameterised]] = _by_name(*PENALTIES.values(), *FIDELITIES.values())

#: Estimators, saved by their parameters and fitted attributes; registered by ``saveable``.
ESTIMATORS: dict[str, type[BaseEstimator]] = {}


def saveable(kind: C) -> C:
    """Class decorator: register an estimator, or a record of its results, that can be saved and loaded."""
    known: dict[str, Any] = ESTIMATORS if issubclass(kind, BaseEstimator) else RECORDS
    known[kind.__name__] = kind
    return kind
