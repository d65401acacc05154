"""What must hold of every file: a result, or an error in plain words; and none of the user's files changed."""

from __future__ import annotations

import contextlib
import copy
import io
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from invariants import PLAIN, refusing
from odd_inputs import fair_text, odd_text, plain_table

import fusewise
from fusewise import FusionClustering, PenalizedFusion
from fusewise.cli import main
from fusewise.mri import read_scan
from fusewise.saving import ModelFileError
from fusewise.saving import _archive as archive
from fusewise.tables import InputError, read_table


@cache
def saved(plain):
    """Tree and arrays of a saved model, and its table."""
    X, _ = plain_table(0)
    with tempfile.TemporaryDirectory() as folder:
        (PenalizedFusion() if plain else FusionClustering()).fit(X).save(Path(folder, "m"))
        return *archive.read_archive(Path(folder, "m"))[1:], X


def models(seed):
    """A forged model is refused; or every use of it gives a result or a plain error."""
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


def reads(seed):
    """A text with mistakes, read with any options, is a table, or an ``InputError``."""
    rng = np.random.default_rng(seed)
    options = odd_options(rng) if rng.random() < 0.5 else {}
    with tempfile.TemporaryDirectory() as folder:
        odd = bool(rng.random() < 0.6)
        path = Path(folder, "t" + rng.choice([".csv", ".tsv", ".txt", *odd * OTHER_ENDINGS]))
        path.write_bytes(odd_text(rng) if odd else fair_text(rng))
        with refusing(InputError):
            found = read_table(path, **options)
    assert len(found.columns) >= found.frame.shape[1]
    assert len(found.frame) == found.n_rows


OTHER_ENDINGS = [".json", ".xlsx", ".parquet", ".db", ".csv.gz"]


def odd_options(rng):
    """Options of ``read_table``, some of them wrong."""
    options = {
        "sep": [",", ";", "tab", "|", "", "ab", "\n"][rng.integers(7)],
        "decimal": [".", ",", "x"][rng.integers(3)],
        "missing": [["x"], [-3, 2.5], "NA", [""]][rng.integers(4)],
        "kinds": [{"1": "number"}, {"x": "category"}, {"NA": ["x", "1"]}, {"1": "flag"}, {"x": "soup"}][
            rng.integers(5)
        ],
        "ignore": [["1"], ["x"], []][rng.integers(3)],
        "sheet": [1, "Sheet1", 0][rng.integers(3)],
    }
    return {name: value for name, value in options.items() if rng.random() < 0.3}


#: Commands with what they write; "T" is the table, "M" a saved model, "O" the place for results.
COMMANDS = {
    "fit": (["fit", "T", "--out", "O", "--quiet"], "O/labels.csv"),
    "saving": (["fit", "T", "--out", "O", "--quiet", "--report", "--save", "O/m"], "O/m"),
    "stability": (["fit", "T", "--out", "O", "--quiet", "--stability", "--draws", "2"], "O/stability.csv"),
    "impute": (["impute", "T", "--out", "O"], "O"),
    "path": (["path", "T", "--out", "O"], "O"),
    "predict": (["predict", "M", "T", "--out", "O"], "O"),
}
OPTIONS = [["--missing", "x"], ["--category", "1"], ["--n-clusters", "2"], ["--sep", ";"], ["--json"], ["--safe-csv"]]


@cache
def saved_bytes():
    """A model saved by the command."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "t.csv").write_text("1,2.5\n" + "".join(f"{k % 2 * 9 + k / 9},{k % 2}\n" for k in range(12)))
        run_command(["fit", f"{folder}/t.csv", "--out", f"{folder}/o", "--save", f"{folder}/m", "--quiet"])
        return Path(folder, "m").read_bytes()


def run_command(arguments):
    """Run a command in this process; return its exit code and what it said on stderr."""
    errors, code = io.StringIO(), None
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code
    return code, errors.getvalue()


def commands(seed):
    """A command ends with 0 and its files, or with 2, a message and none; the table is as it was."""
    rng = np.random.default_rng(seed)
    arguments, written = COMMANDS[rng.choice(list(COMMANDS))]
    if rng.random() < 0.4:
        arguments = arguments + OPTIONS[rng.integers(len(OPTIONS))]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "T").write_bytes(text := odd_text(rng) if rng.random() < 0.5 else fair_text(rng))
        Path(folder, "M").write_bytes(saved_bytes())
        places = {name: str(Path(folder, name)) for name in ("T", "M", "O", "O/m")}
        code, said = run_command([places.get(argument, argument) for argument in arguments])
        assert code in (0, 2), (code, said)
        assert "Traceback" not in said
        assert Path(folder, written).exists() == (code == 0)
        assert Path(folder, "T").read_bytes() == text
        left = {path.name for path in Path(folder).iterdir()} - {"T", "M"}
        assert left == ({"O"} if code == 0 else set()), left


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


JUNK = [
    None, True, -1, 0, 7, 10**9, 0.5, "", "nan", [], {}, [[]], {"is": "float", "value": "nan"},
    {"is": "tuple", "value": []},
]  # fmt: skip


def bent_array(random, array):
    """An array of another shape, dtype or content."""
    kind = random.integers(7)
    if kind == 0 and array.ndim:
        return np.take(array, np.arange(random.integers(max(array.shape[0], 1))), axis=0)
    if kind == 1:
        return np.concatenate([array, array], axis=int(random.integers(array.ndim))) if array.ndim else array[None]
    if kind == 2:
        return np.ascontiguousarray(array.T)
    if kind == 3:
        return array.astype(random.choice(["f4", "c16", "i8", "u1", "b1"]))
    if kind == 4:
        return array.reshape(-1)
    if array.size and kind == 5:
        array = array.copy()
        array.ravel()[random.integers(array.size)] = random.choice([-1, 0, 5, 100])
        return array
    with np.errstate(all="ignore"):
        return (array * random.choice([-1.0, 0.0, 1e300, np.nan])).astype(array.dtype)


def bent_tree(random, tree):
    """A tree with one part removed or replaced."""
    tree = copy.deepcopy(tree)
    node = tree["model"]
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = keys[random.integers(len(keys))]
        child = node[key]
        if isinstance(child, dict | list) and len(child) and random.random() < 0.9:
            node = child
            continue
        if isinstance(node, dict) and random.random() < 0.3:
            del node[key]
        else:
            node[key] = JUNK[random.integers(len(JUNK))]
        return tree
