"""Arrays as base64 in JSON, which browsers decode quickly."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Mask, Real
from fusewise.support.files import finite_json

#: Array types available in browsers.
KINDS: dict[str, np.dtype[Any]] = {
    "f4": np.dtype("<f4"),
    "f8": np.dtype("<f8"),
    "u1": np.dtype("u1"),
    "i2": np.dtype("<i2"),
    "i4": np.dtype("<i4"),
}


def packed(array: npt.ArrayLike, kind: str) -> dict[str, Any]:
    """Encode an array as {kind, shape, bytes}."""
    data = np.ascontiguousarray(array, dtype=KINDS[kind])
    return {"kind": kind, "shape": list(data.shape), "bytes": base64.b64encode(data.tobytes()).decode("ascii")}


def packed_numbers(array: Real) -> dict[str, Any]:
    """Encode numbers in the fewest bytes that hold seven significant digits of each, and all digits of whole ones."""
    finite = array[np.isfinite(array)]
    whole = bool((finite == np.rint(finite)).all()) and len(finite) == len(array)
    if whole and bool((np.abs(finite) < 2**31).all()):
        return packed_whole(array.astype(np.int64))
    size = np.abs(finite[finite != 0])
    single = np.finfo(np.float32)
    fits = bool(((size <= single.max) & (size >= single.tiny)).all())
    exact = finite[finite == np.rint(finite)]  # a large whole number may be a code, and must not change
    return packed(array, "f4" if fits and bool((np.abs(exact) < 2**24).all()) else "f8")


def packed_whole(array: npt.NDArray[np.integer[Any]]) -> dict[str, Any]:
    """Encode integers in the fewest bytes."""
    low, high = array.min(initial=0), array.max(initial=0)
    kind = "u1" if low >= 0 and high < 2**8 else "i2" if low >= -(2**15) and high < 2**15 else "i4"
    return packed(array, kind)


def packed_bits(mask: Mask) -> dict[str, Any]:
    """Encode truth values in a bit each, the first in the highest bit of the first byte."""
    return packed(np.packbits(mask.ravel()), "u1")


def to_json(data: Any) -> str:
    """JSON that is safe inside a <script>: "<" is escaped, and numbers that are not finite become null."""
    return finite_json(data, separators=(",", ":")).replace("<", "\\u003c")
