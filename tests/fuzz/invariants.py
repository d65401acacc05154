"""What must hold of every table, file and model: a result with these properties, or an error in plain words."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import fusewise
from fusewise import FusionClustering, FusionImputer, fuse
from fusewise.cli import main
from fusewise.mri.files.formats import read_scan
from fusewise.penalties import H1, L1, MCP, SCAD, Lp
from fusewise.saving import ModelFileError, archive
from fusewise.tables import InputError, read_table

sys.path.append(str(Path(__file__).parent.parent / "saving"))
from forging import bent_array, bent_tree

#: Errors in plain words.
PLAIN = (ValueError, TypeError)

seeds = st.integers(0, 2**32 - 1)
PENALTIES = (H1(0.5), L1(), Lp(0.5), SCAD(1.0), MCP(1.0))


def odd_table(seed):
    """A table of any dtype and scale, with holes, constant, repeated, empty and huge parts."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 40)), int(rng.integers(1, 9))
    centers = rng.normal(size=(int(rng.integers(1, 5)), p)) * rng.choice([0.1, 1, 10])
    X = centers[rng.integers(len(centers), size=n)] + rng.normal(size=(n, p)) * rng.choice([0, 0.01, 0.3, 3])
    X *= 10.0 ** rng.choice([0, 0, 0, -3, 6, 30, -30, 90, -90])
    if rng.random() < 0.2:
        X = X + 1j * rng.permutation(X)
    if rng.random() < 0.2:
        X = np.round(X)
    X[rng.random(X.shape) < rng.choice([0, 0.1, 0.3, 0.6, 0.9])] = np.nan
    for _ in range(int(rng.integers(0, 3))):
        row, column = rng.integers(n), rng.integers(p)
        odd = rng.integers(7)
        if odd == 0:
            X[row] = np.nan
        elif odd == 1:
            X[:, column] = np.nan
        elif odd == 2:
            X[:, column] = X[row, column]
        elif odd == 3:
            X[row] = X[0]
        elif odd == 4:
            X[row, column] *= 1e6
        elif odd == 5:
            X[row, column] = rng.choice([np.inf, -np.inf, 1e200])
        else:
            X[:, column] = X[:, 0]
    single = {"f": np.float32, "c": np.complex64}[X.dtype.kind]
    with np.errstate(over="ignore"):
        return X.astype(single) if rng.random() < 0.2 else X


def plain_table(seed):
    """Clusters far apart, with some holes: their partition is not in doubt."""
    rng = np.random.default_rng(seed)
    k, p = int(rng.integers(2, 5)), int(rng.integers(3, 8))
    labels = np.repeat(np.arange(k), rng.integers(12, 25, size=k))
    X = 30 * rng.permutation(np.eye(p))[np.arange(k) % p] * (1 + np.arange(k) // p)[:, None]
    X = X[labels] + rng.normal(size=(len(labels), p))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, labels


def check_fit(model, X):
    """Labels in range and in order of size, finite centres, probabilities, the same labels from ``predict``."""
    k = model.n_clusters_
    assert model.labels_.min() >= -1
    assert model.labels_.max() < k
    assert model.cluster_centers_.shape == (k, X.shape[1])
    assert np.isfinite(model.cluster_centers_).all()
    sizes = np.bincount(model.labels_[model.labels_ >= 0], minlength=k)
    assert (np.diff(sizes) <= 0).all()
    if model.probabilities_ is not None:
        np.testing.assert_allclose(model.probabilities_.sum(axis=1), 1, rtol=1e-6)
        np.testing.assert_array_equal(model.predict(X), model.labels_)


def fits(seed):
    """The default, and the plain algorithm, on an odd table."""
    X, rng = odd_table(seed), np.random.default_rng(seed)
    n_clusters = int(rng.integers(1, 5)) if rng.random() < 0.3 else None
    settings = {} if rng.random() < 0.7 else {"rank": None, "penalty": PENALTIES[rng.integers(5)], "lam": 0.1}
    try:
        model = FusionClustering(n_clusters=n_clusters, **settings).fit(X)
    except PLAIN:
        return
    check_fit(model, X)


def fills(seed):
    """The imputer leaves what was observed, and leaves nothing missing."""
    X = odd_table(seed)
    try:
        filled = FusionImputer().fit_transform(X)
    except PLAIN:
        return
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(filled[seen], X[seen])
    assert np.isfinite(filled).all()


def fuses(seed):
    """The objective never rises, in any dtype; centres are finite."""
    X, rng = odd_table(seed), np.random.default_rng(seed)
    penalty, lam = PENALTIES[rng.integers(5)], 10.0 ** rng.integers(-4, 4)
    try:
        solution = fuse(X, lam=lam, penalty=penalty, n_neighbors=[None, "auto", 1, 3][rng.integers(4)], max_iter=50)
    except PLAIN:
        return
    history = np.array(solution.history)
    assert np.isfinite(solution.centers).all()
    assert np.diff(history).max(initial=0) <= 1e-6 * abs(history[0])
    assert solution.centers.dtype == X.dtype


def same_partition(seed):
    """The same partition under permutation, scaling, shifting, another dtype, and after save and load."""
    X, _ = plain_table(seed)
    rng = np.random.default_rng(seed)
    labels = FusionClustering().fit(X).labels_
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    assert adjusted_rand_score(labels[rows], FusionClustering().fit(X[rows]).labels_) == 1
    assert adjusted_rand_score(labels, FusionClustering().fit(X[:, columns]).labels_) == 1
    assert adjusted_rand_score(labels, FusionClustering().fit(X * 1e-20 + 1e-18).labels_) == 1
    single = FusionClustering().fit(X.astype(np.float32))
    assert adjusted_rand_score(labels, single.labels_) == 1
    with tempfile.TemporaryDirectory() as folder:
        single.save(Path(folder, "m"))
        np.testing.assert_array_equal(fusewise.load(Path(folder, "m")).predict(X), single.predict(X))


@cache
def saved(plain):
    """Tree and arrays of a saved model, and its table."""
    X, _ = plain_table(0)
    with tempfile.TemporaryDirectory() as folder:
        FusionClustering(rank=None if plain else "auto", n_neighbors=None if plain else "auto").fit(X).save(
            Path(folder, "m")
        )
        return *archive.read_archive(Path(folder, "m"))[1:], X


def models(seed):
    """A forged model, with valid checksums, is refused; or every use of it gives a result or a plain error."""
    rng = np.random.default_rng(seed)
    tree, arrays, X = saved(bool(rng.random() < 0.3))
    own, k = list(arrays), rng.integers(len(arrays))
    if rng.random() < 0.5:
        own[k] = bent_array(rng, arrays[k])
    else:
        tree = bent_tree(rng, tree)
    with tempfile.TemporaryDirectory() as folder:
        archive.write_archive(Path(folder, "m"), "FusionClustering", tree, own)
        try:
            model = fusewise.load(Path(folder, "m"))
        except ModelFileError:
            return
    for use in (model.predict, model.transform, model.score):
        with contextlib.suppress(*PLAIN, AttributeError):
            use(X[:5])


def commands(seed):
    """The command ends with 0 and its files, or with 2, one line and none."""
    rng = np.random.default_rng(seed)
    errors = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "t.csv").write_bytes(odd_text(rng))
        arguments = ["fit", str(Path(folder, "t.csv")), "--out", str(Path(folder, "o")), "--quiet"]
        code = None
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            try:
                main(arguments)
            except SystemExit as end:
                code = end.code
        assert code in (0, 2), code
        assert Path(folder, "o", "labels.csv").exists() == (code == 0)
        assert "Traceback" not in errors.getvalue()


def odd_text(rng):
    """A small table with mistakes, as the bytes of a text file, or bytes alone."""
    cells = ["1", "2.5", "-3", "", "NA", "x", "1,5", "€3", "5%", '"', "'", ";", "\t", "2020-01-01", "é", "=1+1", "\x00"]
    lines = [
        rng.choice([",", ";", "\t"]).join(rng.choice(cells, size=rng.integers(1, 6))) for _ in range(rng.integers(1, 9))
    ]
    text = rng.choice(["\n", "\r\n", "\r"]).join(lines).encode(rng.choice(["utf-8", "utf-16"]))
    return rng.bytes(int(rng.integers(0, 60))) if rng.random() < 0.3 else text


def reads(seed):
    """A text with mistakes is a table, or an ``InputError``."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t" + rng.choice([".csv", ".tsv", ".txt", ".json", ".xlsx", ".parquet", ".db", ".csv.gz"]))
        path.write_bytes(odd_text(rng))
        try:
            found = read_table(path)
        except InputError:
            return
    assert len(found.columns) >= found.frame.shape[1]


def scans(seed):
    """Bytes that are no scan are refused by name, and not changed."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s" + rng.choice([".npy", ".npz", ".cfl", ".h5"]))
        start = rng.choice([b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"\x89HDF\r\n\x1a\n", b""])
        path.write_bytes(content := start + rng.bytes(int(rng.integers(0, 80))))
        said = path.name
        try:
            read_scan(path)
        except PLAIN as error:
            said = str(error)
        assert path.name in said
        assert path.read_bytes() == content


#: Every kind of case, and how many of it make a small budget.
CASES = {fits: 25, fills: 6, fuses: 25, same_partition: 2, reads: 60, scans: 30, models: 10, commands: 4}


def quietly(case, seed):
    """Run a case without its warnings; errors of floating point that NumPy only warns of are not errors."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        case(seed)
