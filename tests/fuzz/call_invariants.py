"""What must hold of every call: parameters of any kind, and descriptions of any result."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pandas as pd
from invariants import PENALTIES, PLAIN, Refused, any_clustering, refusing
from odd_inputs import odd_frame, odd_table, plain_table

from fusewise import FusionClustering, FusionImputer, PenalizedFusion, fuse, fusion_path, theory
from fusewise.datasets import hide_entries, make_clusters
from fusewise.support import finite_json

#: Values for any parameter, most of them wrong for most.
VALUES = [
    None, True, False, -1, 0, 1, 2, 3, 1.5, -0.5, 0.2, np.nan, np.inf, -np.inf, 1e-300, 1e300, 10**12, 10**30, "auto",
    "x", "", "cpu", "cuda:9", "quadratic", "box", "zero", "mean", "subspace", "l1", "scad", b"h1", [], [1], [0.5, 2.0],
    [1e-300, 1e300], {}, (), np.int8(2), np.float32(0.5), np.array(1.0), np.array([1, 2]), np.array("x"),
    np.zeros((2, 2)), 1j, object(), int, ("a", "b"), *PENALTIES,
]  # fmt: skip
SMALL_TABLE = plain_table(3)[0][:20]
ITS_DEFAULT = object()


def settings_of(kind):
    return dict.fromkeys(sorted(set(kind().get_params()) - {"verbose"}), ITS_DEFAULT)


#: Functions with arguments that are right, each of which is replaced now and then.
CALLS = [
    (lambda **given: FusionClustering(**given).fit(SMALL_TABLE), settings_of(FusionClustering)),
    (lambda **given: FusionImputer(**given).fit(SMALL_TABLE), settings_of(FusionImputer)),
    (lambda **given: PenalizedFusion(**given).fit(SMALL_TABLE), settings_of(PenalizedFusion)),
    (lambda **given: fuse(SMALL_TABLE, **given), {
        "lam": 1.0, "penalty": "h1", "fidelity": "quadratic", "init": "partial", "rank": None, "n_neighbors": 3,
        "max_iter": 20, "tol": 1e-3, "device": "cpu"}),
    (lambda **given: fusion_path(SMALL_TABLE, **given), {
        "lams": [0.1, 1.0], "sigmas": None, "penalty": "h1", "fidelity": "quadratic", "init": "partial", "rank": None,
        "n_neighbors": 3, "max_iter": 20, "tol": 1e-3}),
    (hide_entries, {"X": SMALL_TABLE, "fraction": 0.2, "random_state": 0}),
    (make_clusters, {"n_clusters": 2, "size": 5, "n_features": 3, "noise": 0.1, "random_state": 0}),
    (theory.beta0, {"p0": 0.5, "P": 20, "kappa": 0.3, "mu0": 1.5}),
    (theory.beta1, {"P": 20, "kappa_prime": 0.3}),
    (theory.eta0, {"beta0": 0.01, "M": 10, "K": 3}),
    (theory.sharp_failure, {"p0": 0.5, "separating": 10, "sizes": [10, 20]}),
    (theory.blind_failure, {"p0": 0.5, "separating": 10, "n_points": 30}),
    (theory.gamma0, {"p0": 0.5, "P": 20}),
    (theory.coherence, {"y": np.ones(4)}),
]  # fmt: skip


def calls(seed):
    """A function of the library with one to three arguments of any kind: a result, or an error in plain words."""
    rng = np.random.default_rng(seed)
    function, right = CALLS[rng.integers(len(CALLS))]
    given = {name: value for name, value in right.items() if value is not ITS_DEFAULT}
    for name in rng.choice(list(right), size=int(rng.integers(1, min(4, len(right) + 1)))):
        given[str(name)] = VALUES[rng.integers(len(VALUES))]
    try:
        function(**given)
    except MemoryError as error:  # what does not fit in memory is refused so
        raise Refused from error
    except ImportError as error:  # a device without torch
        if "pip install" not in str(error):
            raise
        raise Refused from error
    except (*PLAIN, RuntimeError) as error:
        shapes = function.__module__.startswith("fusewise.theory") and "broadcast" in str(error)
        if not shapes and "cuda:9" not in map(str, given.values()):  # arrays that do not go together; no such device
            with refusing():
                raise
        raise Refused from error


def described(seed):
    """Descriptions are text, JSON and frames; their rules select the same rows as Python and as SQL."""
    rng = np.random.default_rng(seed)
    X = odd_frame(seed) if rng.random() < 0.5 else odd_table(seed)
    with refusing():
        model = any_clustering(rng).fit(X)
    found = model.describe()
    assert str(found).strip()
    assert "nan" not in str(found).lower().split()
    json.loads(finite_json(found.as_dict()))
    assert len(found.clusters) == len(found.rules) == model.n_clusters_
    found.to_frame()
    for rule in found.rules:
        assert 0 <= rule.precision <= 1
        assert 0 <= rule.recall <= 1
    if isinstance(X, pd.DataFrame) and len(found.rules):
        check_rule(found.rules[rng.integers(len(found.rules))], X, model)


def check_rule(rule, frame, model):
    """The rows that SQLite selects by a rule: as many as it says, and with the share that it says."""
    cells = frame.astype(object).where(frame.notna(), None).to_dict("split")["data"]
    lines = [
        (row, *(cell.item() if isinstance(cell, np.generic) else cell for cell in of)) for row, of in enumerate(cells)
    ]
    with sqlite3.connect(":memory:") as base:
        names = ", ".join(f'"{name}"' for name in ("the row", *frame.columns))
        base.execute(f'CREATE TABLE "t" ({names})')
        base.executemany(f'INSERT INTO "t" VALUES ({", ".join("?" * (1 + frame.shape[1]))})', lines)
        rows = [line[0] for line in base.execute(rule.as_sql("t"))]
    assert len(rows) == rule.n_rows, (len(rows), rule)
    if rows:
        assert np.isclose(np.mean(model.labels_[rows] == rule.cluster), rule.precision, atol=1e-9)
