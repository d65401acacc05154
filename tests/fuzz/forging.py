"""Random changes of the parts of a model file."""

from __future__ import annotations

import copy

import numpy as np

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
