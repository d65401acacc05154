"""What must hold of rows that come in blocks: streams and Dask."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from invariants import Refused, check_filled, check_probabilities, refusing
from odd_inputs import odd_frame, odd_table, plain_table

import fusewise
from fusewise import FusionClustering, FusionImputer


def in_blocks(rng, n):
    """Slices of n rows, one after another, some of them of one row."""
    cuts = np.unique(np.concatenate([[0, n], rng.integers(0, n + 1, size=int(rng.integers(0, 6)))]))
    return [slice(begin, end) for begin, end in pairwise(cuts.tolist())]


def streams(seed):
    """Blocks one after another: blocks of any size, and a stream of them, give the same clusters."""
    rng = np.random.default_rng(seed)
    X = odd_frame(seed) if rng.random() < 0.3 else odd_table(seed)
    take = X.iloc.__getitem__ if isinstance(X, pd.DataFrame) else X.__getitem__
    settings = {"random_state": 0}
    parts = [take(rows) for rows in in_blocks(rng, len(X))]
    model = FusionClustering(**settings)
    with refusing():
        for part in parts:
            model.partial_fit(part)
        labels = model.labels_
    np.testing.assert_array_equal(labels, model.predict(parts[-1]))
    check_labels(model.predict(X), model)
    check_probabilities(model.predict_proba(X), (len(X), model.n_clusters_))
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "m"))
        loaded = fusewise.load(Path(folder, "m"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    loaded.partial_fit(parts[0])  # a loaded model goes on
    check_labels(loaded.predict(X), loaded)


def check_labels(labels, model):
    assert labels.min(initial=0) >= -1
    assert labels.max(initial=-1) < model.n_clusters_
    assert np.isfinite(model.cluster_centers_).all()


def dask_arrays(seed):
    """Chunks of any sizes: labels in range, clusters with rows, filled entries; plain tables as in memory."""
    rng = np.random.default_rng(seed)
    plain = bool(rng.random() < 0.3)
    X = plain_table(seed)[0] if plain else odd_table(seed)
    chunks = tuple(block.stop - block.start for block in in_blocks(rng, len(X)))
    table = da.from_array(X, chunks=(chunks, X.shape[1] if rng.random() < 0.5 else 1))
    with dask.config.set(scheduler="synchronous"):
        with refusing():
            model = FusionClustering().fit(table)
        check_remote(model, table, X)
        imputer = FusionImputer().fit(table)
        check_filled(imputer.transform(table).compute(), X)
        if plain:
            np.testing.assert_array_equal(model.labels_.compute(), FusionClustering().fit(X).labels_)


def dask_frames(seed):
    """Partitions of a frame with columns of every kind: labels with the index of the rows, levels that were there."""
    frame, rng = odd_frame(seed), np.random.default_rng(seed)
    frame.index = 3 * np.arange(len(frame))
    with dask.config.set({"scheduler": "synchronous", "dataframe.convert-string": bool(rng.random() < 0.5)}):
        try:
            table = dd.from_pandas(frame, npartitions=int(rng.integers(1, 5)))
            frame = table.compute()  # Dask may read numbers among text as text
        except (TypeError, ValueError, NotImplementedError) as error:  # a column that Dask does not take
            raise Refused from error
        with refusing():
            model = FusionClustering().fit(table)
        check_remote(model, table, frame)
        assert list(model.labels_.compute().index) == list(frame.index)
        filled = FusionImputer().fit(table).transform(table).compute()
    for name in frame.columns:
        seen = frame[name].notna()
        assert not filled[name].isna().any() or not seen.any()
        assert (filled[name][seen] == frame[name][seen]).all()


def check_remote(model, table, X):
    """What ``check_fit`` checks, of lazy results."""
    labels, shares = np.asarray(model.labels_.compute()), np.asarray(model.probabilities_.compute())
    check_labels(labels, model)
    check_probabilities(shares, (len(X), model.n_clusters_))
    sizes = np.bincount(labels[labels >= 0], minlength=model.n_clusters_)
    assert (np.diff(sizes) <= 0).all(), sizes
    assert (sizes > 0).all() or not sizes.any(), sizes
    np.testing.assert_array_equal(np.asarray(model.predict(table).compute()), labels)
    np.testing.assert_array_equal(model.predict(X), labels)  # the same rows in memory
