"""Tables, frames, hints and texts to fuzz with: of any scale and dtype, with holes, mistakes and contradictions."""

from __future__ import annotations

import numpy as np
import pandas as pd


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


def odd_frame(seed):
    """A frame with columns of several dtypes that have to do with a few groups, with holes and odd columns."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 40)), int(rng.integers(1, 7))
    groups = rng.integers(rng.integers(1, 4), size=n)
    makers = ODD_COLUMNS if rng.random() < 0.3 else PLAIN_COLUMNS
    makers = makers[: len(CATEGORIES)] if rng.random() < 0.3 else makers
    columns = {f"c{j}": makers[rng.integers(len(makers))](rng, groups) for j in range(p)}
    frame = pd.DataFrame(columns)
    gone = rng.random(frame.shape) < rng.choice([0, 0.1, 0.4, 0.8])
    for j, name in enumerate(frame.columns):
        if gone[:, j].any():
            column = frame[name]
            missing = column.convert_dtypes() if column.dtype.kind in "iub" else column
            frame[name] = missing.mask(gone[:, j])
    return frame


def _levels(rng, groups, names):
    noisy = np.where(rng.random(len(groups)) < 0.7, groups, rng.integers(9, size=len(groups)))
    return np.array(names, dtype=object)[noisy % len(names)]


#: Columns of categories: text, categories with unused levels, ordered ones, flags, codes.
CATEGORIES = [
    lambda rng, groups: pd.Series(_levels(rng, groups, ["red", "green", "blue"]), dtype=object),
    lambda rng, groups: pd.Categorical(_levels(rng, groups, ["a", "b"]), ["unused", "b", "a"]),
    lambda rng, groups: pd.Categorical(
        _levels(rng, groups, ["low", "mid", "top"]), ["low", "mid", "top"], ordered=True
    ),
    lambda rng, groups: pd.array(_levels(rng, groups, [True, False]), dtype="boolean"),
    lambda rng, groups: pd.Categorical(_levels(rng, groups, [1, 2, 10])),
]
PLAIN_COLUMNS = [
    *CATEGORIES,
    lambda rng, groups: groups * rng.choice([0, 3, 50]) + rng.normal(size=len(groups)),
    lambda rng, groups: (groups * 5 + rng.normal(size=len(groups))).astype(np.float32),
    lambda rng, groups: groups * 4 + rng.integers(3, size=len(groups)),
    lambda rng, groups: pd.array(groups + rng.integers(2, size=len(groups)), dtype="Int64"),
    lambda rng, groups: rng.random(len(groups)) < 0.5,
]
ODD_COLUMNS = [
    *PLAIN_COLUMNS,
    lambda rng, groups: [f"name {k}" for k in range(len(groups))],
    lambda rng, groups: ["same"] * len(groups),
    lambda rng, groups: np.full(len(groups), np.nan),
    lambda rng, groups: pd.Series([None] * len(groups), dtype=object),
    lambda rng, groups: pd.date_range("2020-01-01", periods=len(groups)),
    lambda rng, groups: pd.Series([1, "x", 2.5, None] * len(groups), dtype=object)[: len(groups)],
    lambda rng, groups: rng.normal(size=len(groups)) * 10.0 ** rng.choice([-200, 40, 99, 300]),
    lambda rng, groups: rng.normal(size=len(groups)) + 1j,
    lambda rng, groups: (["(other)", "", "=1+1", "é"] * len(groups))[: len(groups)],
]


def odd_hints(rng, n):
    """Pairs of rows and labels, for ``fit``: few or many, some of them contradictory or wrong."""
    given = {}
    for name in ("must_link", "cannot_link"):
        if rng.random() < 0.6:
            given[name] = rng.integers(n, size=(int(rng.integers(0, 6)), 2))
            if rng.random() < 0.8:
                given[name] = given[name][given[name][:, 0] != given[name][:, 1]]
    if rng.random() < 0.1:
        given["must_link"] = [[(0, n)], [(0.5, 1)], [0, 1], "ab", [(-1, 0)]][rng.integers(5)]
    return given


def odd_labels(rng, n):
    """Labels of some rows: numbers, text or objects, unknown as -1, None or NaN."""
    names = [[0, 1, 2], ["a", "b", ""], [True, False], [1.5, np.inf, 2.5]][rng.integers(4)]
    unknown = [-1, None, np.nan][rng.integers(3)]
    share = rng.choice([0, 0.2, 0.8, 1])
    return np.array([names[rng.integers(len(names))] if rng.random() < share else unknown for _ in range(n)], object)


def odd_weights(rng, n):
    """Weights of rows: whole, fractions, with zeros, and now and then none that can be used."""
    kind = rng.integers(8)
    weights = rng.integers(0, 4, size=n).astype(float)
    if kind == 0:
        return rng.random(n) * rng.choice([1, 5])
    if kind == 1:
        weights[rng.integers(n)] = rng.choice([-1, np.nan, np.inf, 1e12])
    if kind == 2:
        return weights[:-1]
    if kind == 3:
        return np.zeros(n)
    if kind == 4:
        return weights.astype(int).tolist()
    return weights


def fair_text(rng):
    """A table that can be read: names, numbers, levels and holes."""
    n, groups = int(rng.integers(4, 30)), rng.integers(3, size=40)
    lines = ["name,1,x,level"]
    for k in range(n):
        cells = [f"=r{k}", f"{groups[k] * 9 + rng.normal():.3f}", f"{rng.normal():.2f}", "abc"[groups[k]]]
        lines.append(",".join("" if rng.random() < 0.1 else cell for cell in cells))
    return "\n".join(lines).encode()


def odd_text(rng):
    """A small table with mistakes, as the bytes of a text file, or bytes alone."""
    cells = ["1", "2.5", "-3", "", "NA", "x", "1,5", "€3", "5%", '"', "'", ";", "\t", "2020-01-01", "é", "=1+1", "\x00"]
    lines = [
        rng.choice([",", ";", "\t"]).join(rng.choice(cells, size=rng.integers(1, 6))) for _ in range(rng.integers(1, 9))
    ]
    text = rng.choice(["\n", "\r\n", "\r"]).join(lines).encode(rng.choice(["utf-8", "utf-16"]))
    return rng.bytes(int(rng.integers(0, 60))) if rng.random() < 0.3 else text
