"""What must hold of every table: a result with these properties, or an error in plain words."""

from __future__ import annotations

import re
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from odd_inputs import odd_frame, odd_hints, odd_labels, odd_table, odd_weights

import fusewise
from fusewise import FusionClustering, FusionImputer, PenalizedFusion
from fusewise.penalties import H1, L1, MCP, SCAD, Lp

#: Errors in plain words, unless they are words of a library about its own affairs.
PLAIN = (ValueError, TypeError)
JARGON = re.compile(
    "broadcast|out of bounds|operand|infs or NaNs|zero-size|cannot reshape|inhomogeneous|not supported between|"
    "NoneType|unhashable|positional argument|ufunc|LinAlg|singular|not positive definite|subscriptable|has no attribute"
)

seeds = st.integers(0, 2**32 - 1)
PENALTIES = (H1(0.5), L1(), Lp(0.5), SCAD(1.0), MCP(1.0))


class Refused(Exception):
    """An error in plain words, as it should be."""


@contextmanager
def refusing(kinds=PLAIN):
    """Turn an error in plain words into ``Refused``; one in a library's words is a failure."""
    try:
        yield
    except kinds as error:
        if not str(error) or JARGON.search(str(error)):
            raise AssertionError(f"not in plain words: {type(error).__name__}: {error}") from error
        raise Refused from error


def sizes_of(model, weights=None):
    """How many rows, or what weight, each cluster has."""
    inside = model.labels_ >= 0
    return np.bincount(model.labels_[inside], None if weights is None else weights[inside], model.n_clusters_)


def check_fit(model, X, weights=None, *, hinted=False):
    """Labels in range and in order of size, no empty cluster, finite centres, probabilities, the same ``predict``."""
    k = model.n_clusters_
    assert model.labels_.min() >= -1
    assert model.labels_.max() < k
    assert len(model.cluster_centers_) == k
    assert np.isfinite(model.cluster_centers_).all()
    sizes = sizes_of(model, weights)
    assert (np.diff(sizes) <= 0).all(), sizes
    if (model.labels_ >= 0).any():
        assert (sizes > 0).all(), sizes
    if isinstance(model, FusionClustering):
        check_probabilities(model.probabilities_, (len(X), k))
        assert (model.confidence_ >= 0).all()
        assert (model.confidence_ <= 1 + 1e-6).all()
        if not hinted:  # rows with hints are placed by them
            np.testing.assert_array_equal(model.predict(X), model.labels_)
            np.testing.assert_allclose(model.predict_proba(X), model.probabilities_, atol=1e-9)


def check_probabilities(found, shape):
    """N x K, from 0 to 1, each row with the sum one."""
    assert found.shape == shape
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-6)


def any_clustering(rng, **more):
    """The default, or the paper's algorithm, with or without a number of clusters."""
    penalty = None if rng.random() < 0.7 else PENALTIES[rng.integers(5)]
    n_clusters = int(rng.integers(1, 5)) if rng.random() < 0.3 else None
    if penalty is None:
        return FusionClustering(n_clusters, outliers=bool(rng.random() < 0.8), **more)
    return PenalizedFusion(0.1, penalty=penalty, n_neighbors="auto", n_clusters=n_clusters)


def fits(seed):
    """The default, and the paper's algorithm, on an odd table."""
    X = odd_table(seed)
    with refusing():
        model = any_clustering(np.random.default_rng(seed)).fit(X)
    check_fit(model, X)


def numbers(seed):
    """Every number of clusters from 1 to N: no more than asked for, and none of them empty."""
    rng = np.random.default_rng(seed)
    X = odd_table(seed)[: rng.integers(2, 20)]
    k = int(rng.integers(1, len(X) + 1))
    estimator = (
        FusionClustering(k) if rng.random() < 0.7 else PenalizedFusion([0.1, "auto"][rng.integers(2)], n_clusters=k)
    )
    with refusing(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = estimator.fit(X)
    check_fit(model, X)
    assert model.n_clusters_ <= k
    if model.n_clusters_ < k:
        assert any("requested" in str(warning.message) for warning in caught), "fewer clusters, and no word of it"


def weights(seed):
    """Weights of any kind: rows without weight are labelled, and do not count."""
    X, rng = odd_table(seed), np.random.default_rng(seed)
    given = odd_weights(rng, len(X))
    with refusing():
        model = FusionClustering().fit(X, sample_weight=given)
    counts = np.diff(np.floor(np.cumsum(given) + 0.5), prepend=0)
    check_fit(model, X, counts)


def hints(seed):
    """Hints are obeyed, every one; or refused."""
    X, rng = odd_table(seed), np.random.default_rng(seed)
    told = bool(rng.random() < 0.4)
    y = odd_labels(rng, len(X)) if told else None
    n_clusters = int(rng.integers(1, 6)) if rng.random() < 0.3 else None
    given = odd_hints(rng, len(X))
    with refusing():
        model = FusionClustering(semi_supervised=told, n_clusters=n_clusters).fit(X, y, **given)
    check_fit(model, X, hinted=True)
    labels = model.labels_
    for one, other in np.asarray(given.get("must_link", ()), int).reshape(-1, 2):
        assert labels[one] == labels[other] >= 0
    for one, other in np.asarray(given.get("cannot_link", ()), int).reshape(-1, 2):
        assert labels[one] != labels[other]
    if told:
        known = [(row, name) for row, name in enumerate(y) if not (name is None or name != name or name == -1)]
        for row, name in known:
            assert all((labels[row] == labels[other]) == (name == theirs) for other, theirs in known)


def frames(seed):
    """Frames with columns of every kind; after save and load the same labels."""
    frame, rng = odd_frame(seed), np.random.default_rng(seed)
    with refusing():
        model = FusionClustering(n_clusters=int(rng.integers(1, 5)) if rng.random() < 0.2 else None).fit(frame)
    check_fit(model, frame)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "m"))
        np.testing.assert_array_equal(fusewise.load(Path(folder, "m")).predict(frame), model.labels_)


def classes(seed):
    """Latent classes: a table of codes in an array, all of its columns categories."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 40)), int(rng.integers(1, 7))
    groups = rng.integers(rng.integers(1, 4), size=n)
    X = np.where(rng.random((n, p)) < 0.7, groups[:, None], rng.integers(rng.integers(1, 8), size=(n, p))).astype(float)
    X[rng.random(X.shape) < rng.choice([0, 0.2, 0.7])] = np.nan
    with refusing():
        model = FusionClustering(categorical_features=list(range(p))).fit(X)
    check_fit(model, X)


def judged(seed):
    """Stability and alternatives: shares from 0 to 1, each draw counted, other numbers with clusters that have rows."""
    rng = np.random.default_rng(seed)
    X = odd_frame(seed) if rng.random() < 0.3 else odd_table(seed)
    n_draws = int(rng.integers(1, 4))
    with refusing():
        model = FusionClustering(n_clusters=[None, 2][rng.integers(2)]).fit(X)
        found = model.stability(n_draws, n_jobs=1)
    assert found.n_draws == n_draws == sum(found.n_clusters.values())
    for shares, length in ((found.clusters, model.n_clusters_), (found.rows, len(X)), (found.confidence, len(X))):
        assert shares.shape == (length,)
        known = shares[~np.isnan(shares)]
        assert (known >= 0).all()
        assert (known <= 1 + 1e-9).all()
    if model.probabilities_ is None:
        return
    others = model.alternatives()
    assert len({other.n_clusters for other in others} - {model.n_clusters_}) == len(others)
    for other in others:
        assert len(other.labels) == len(X)
        assert min(other.sizes) > 0
        assert np.isfinite(other.gain)


def fills(seed):
    """The imputer leaves what was observed, and leaves nothing missing; its errors are numbers."""
    X = odd_table(seed)
    imputer = FusionImputer()
    with refusing():
        filled = imputer.fit_transform(X)
    check_filled(filled, X)
    assert all(np.isfinite(error) for error in imputer.held_out_error_.values())


def draws(seed):
    """Drawn tables leave what was observed, and keep the sign of a column; the same seed draws the same."""
    X, rng = odd_table(seed), np.random.default_rng(seed)
    imputer = FusionImputer()
    with refusing():
        imputer.fit(X)
    once, again = (imputer.sample(X, 2, random_state=int(seed % 2**31)) for _ in range(2))
    for table, other in zip(once, again, strict=True):
        check_filled(table, X)
        np.testing.assert_array_equal(table, other)
        if X.dtype.kind == "f":
            assert (table[:, np.nanmin(X, axis=0) >= 0] >= 0).all()
            assert (table[:, np.nanmax(X, axis=0) <= 0] <= 0).all()
    new = X[rng.integers(len(X), size=3)]
    check_filled(imputer.transform(new), new)


def check_filled(filled, X):
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(filled[seen], X[seen])
    assert np.isfinite(filled).all()


def filled_frames(seed):
    """Frames are filled, and drawn, as frames: the same dtypes, what was observed, levels that were there."""
    frame = odd_frame(seed)
    imputer = FusionImputer()
    with refusing():
        imputer.fit(frame)
    for filled in (imputer.transform(frame), imputer.sample(frame, 1, random_state=0)[0]):
        assert list(filled.columns) == list(frame.columns)
        for name in frame.columns:
            before, after = frame[name], filled[name]
            assert after.dtype == before.dtype, (name, before.dtype, after.dtype)
            assert not after.isna().any() or before.isna().all()
            seen = before.notna()
            assert (before[seen] == after[seen]).all()
            are_levels = not pd.api.types.is_numeric_dtype(before.dtype) and seen.any()
            if are_levels and not all(isinstance(value, int | float) for value in before[seen]):  # numbers as objects
                assert set(after.dropna()) <= set(before[seen])


def quietly(case, seed):
    """Run a case without its warnings; errors of floating point that NumPy only warns of are not errors."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            case(seed)
        except Refused:
            return "refused"
    return "done"
